"""Carries a run out, for every command that makes one, and reports its end."""

import json
from collections.abc import Callable

import typer

from tlslab import report
from tlslab.cli.console import conclude, err, say, show
from tlslab.cli.ending import EXIT_INTERRUPTED
from tlslab.cli.missing_parts import provide
from tlslab.cli.progress import watch
from tlslab.cli.watching import Watching, watched
from tlslab.domain import events
from tlslab.domain.finding import Summary
from tlslab.lab.experiment_run import Request, Result, execute
from tlslab.lab.store import to_json
from tlslab.report.live.state import State


def carry_out(request: Request, yes: bool, as_json: bool, watching: Watching) -> Result:
    """Provides the missing parts of a run, runs it with its progress shown, and prints its report.

    `yes`: missing parts are built or fetched without a question. `watching`: further places that
    show the progress. Raises UsageError, CannotRunError.
    """
    provide(request, yes)
    with watched(request.experiment.name, watching) as state:
        with watch() as observer:
            result = execute(request, both(observer, state) if watching.is_wanted else observer)
        words = "interrupted" if result.interrupted else "done"
        state.finish(words, str(result.folder / "report.html"))
        _show(result, as_json)
    return result


def _show(result: Result, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(to_json(result.summary), allow_nan=False))
    else:
        more = ("tlslab", "report", str(result.folder), "--details")
        show(report.render_text(result.summary, more))


def conclude_run(
    result: Result, as_json: bool, ending: Callable[[Summary], tuple[str, int]]
) -> int:
    """Prints the place of the results and the reason of the exit code; returns the exit code.

    `ending`: the reason and the exit code of a run that was not interrupted.
    """
    if as_json:
        for warning in report.warning_lines(result.summary):
            say(f"warning: {warning}")
    err.print(f"report: {result.folder / 'report.html'}", soft_wrap=True, markup=False)
    if result.interrupted:
        say(f"the rest: {report.resume_command(result.folder)}")
        return conclude("interrupted", EXIT_INTERRUPTED)
    return conclude(*ending(result.summary))


def both(observer: events.Observer, state: State) -> events.Observer:
    """An observer for the terminal and for outside observers."""

    def observe(event: events.Event) -> None:
        state.take(event)
        observer(event)

    return observe
