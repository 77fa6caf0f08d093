"""Carries a run out, for every command that makes one, and reports its end."""

import json
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import typer

from tlslab import report
from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import conclude, err, say, show_report
from tlslab.cli.ending import EXIT_CANNOT_TELL, EXIT_INTERRUPTED
from tlslab.cli.options import Output
from tlslab.cli.progress import watch
from tlslab.cli.watching import Watching, watched
from tlslab.domain import events
from tlslab.domain.errors import CannotRunError
from tlslab.domain.experiment import Experiment
from tlslab.domain.finding import Summary
from tlslab.lab.experiment_run import Request, Result, execute, missing_parts
from tlslab.lab.request import Early
from tlslab.lab.required_parts import MissingPart, make
from tlslab.lab.store import to_json
from tlslab.report.live.state import State

# How a run ended, in words.
_ENDS: dict[Early, str] = {"": "done", "interrupted": "interrupted", "over": "the budget is spent"}


def request_of(
    given: Any, experiment: Experiment, targets: tuple[str, ...], **more: Any
) -> Request:
    """The request for a run: of the options, those with the names of its fields; and `more`.

    Raises UsageError for certificate authorities or an allow file that cannot be read.
    """
    names = {field.name for field in fields(Request)} & {field.name for field in fields(given)}
    named = {name: getattr(given, name) for name in names}
    for name in ("allow", "jdks"):
        named[name] = tuple(named.get(name) or ())
    command = ("tlslab", *sys.argv[1:])
    request = Request(
        **(named | more | {"experiment": experiment, "targets": targets, "command": command})
    )
    # Checked first, so that a missing file is reported at once.
    request.trust()
    return replace(request, allow=(*request.allow, *read_allow_file()))


def carry_out(request: Request, yes: bool, output: Output, watching: Watching) -> Result:
    """Provides the missing parts of a run, runs it with its progress shown, and prints its report.

    `yes`: missing parts are built or fetched without a question. `watching`: further places that
    show the progress. Raises UsageError, CannotRunError.
    """
    provide(request, yes)
    with watched(request.experiment.name, watching) as state:
        with watch() as observer:
            result = execute(request, both(observer, state) if watching.is_wanted else observer)
        state.finish(_ENDS[result.early], str(result.folder / "report.html"))
        if output.as_json:
            typer.echo(json.dumps(to_json(result.summary), allow_nan=False))
        else:
            show_report(result.summary, output.details, (str(result.folder),))
    return result


def conclude_run(
    result: Result, output: Output, ending: Callable[[Summary], tuple[str, int]]
) -> int:
    """Prints the place of the results and the reason of the exit code; returns the exit code.

    `ending`: the reason and the exit code of a run that was not interrupted.
    """
    if output.as_json:
        for warning in report.warning_lines(result.summary):
            say(f"warning: {warning}")
    err.print(f"report: {result.folder / 'report.html'}", soft_wrap=True, markup=False)
    if result.early:
        say(f"the rest: {report.resume_command(result.folder)}")
        code = EXIT_INTERRUPTED if result.early == "interrupted" else EXIT_CANNOT_TELL
        return conclude(_ENDS[result.early], code)
    return conclude(*ending(result.summary))


def both(observer: events.Observer, state: State) -> events.Observer:
    """An observer for the terminal and for outside observers."""

    def observe(event: events.Event) -> None:
        state.take(event)
        observer(event)

    return observe


def provide(request: Request, yes: bool) -> None:
    """Makes the missing parts of a run. Raises CannotRunError if that is refused or impossible."""
    missing = missing_parts(request)
    if not missing:
        return
    for part in missing:
        say(f"missing: {part.name}, {part.words}: {part.commands}")
    if not yes and not _agreed(missing):
        names = ", ".join(part.name for part in missing)
        again = shlex.join(["tlslab", *sys.argv[1:], "--yes"])
        by_hand = " && ".join(part.commands for part in missing)
        raise CannotRunError(
            f"missing for this run: {names}",
            f"{again} has tlslab build or fetch it; or run it yourself: {by_hand}; or leave out "
            "what needs it with --target or --set",
        )
    for part in missing:
        began = time.monotonic()
        say(f"{part.name}: about {part.minutes} min")
        make(part, say)
        say(f"{part.name}: done in {time.monotonic() - began:.0f} s")


def _agreed(missing: tuple[MissingPart, ...]) -> bool:
    """Whether the user, if there is one, agrees."""
    if not (sys.stdin.isatty() and err.is_terminal):
        return False
    minutes = sum(part.minutes for part in missing)
    return typer.confirm(f"build or fetch it now (about {minutes} min)?", default=True, err=True)
