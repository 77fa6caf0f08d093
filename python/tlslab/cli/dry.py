"""`tlslab run --dry-run`: the plan, the exclusions, and the forecast duration."""

import json
import shlex
from collections.abc import Iterator

import typer
from rich.table import Table
from rich.text import Text

from tlslab.cli.console import conclude, out
from tlslab.cli.shared_words import by_reason, duration
from tlslab.domain.errors import UsageError
from tlslab.domain.plain import plain
from tlslab.domain.plan import Plan
from tlslab.domain.wording import cell_label, counted
from tlslab.experiment import file_kind
from tlslab.lab.experiment_run import foresee
from tlslab.lab.foresee import Foreseen, require_cells
from tlslab.lab.request import Request
from tlslab.lab.store import to_json


def show(request: Request, as_json: bool) -> int:
    """Prints the plan; returns the exit code. Raises UsageError if no cell is left to run."""
    if request.resume is not None:
        raise UsageError(
            "--dry-run shows a new plan, and --resume goes on with an old one",
            f"leave --dry-run out to go on; {request.resume / 'plan.json'} is the plan, and "
            f"`tlslab report {shlex.quote(str(request.resume))}` says what is done",
        )
    found = foresee(request)
    require_cells(found.plan)
    if as_json:
        data = {"schema": "tlslab.dry-run/1", **to_json(found)}
        typer.echo(json.dumps(data, allow_nan=False))
    else:
        _print(request, found)
    return conclude("nothing was started, nothing was written", 0)


def _print(request: Request, found: Foreseen) -> None:
    experiment = request.experiment
    out.print(Text(plain(experiment.title), style="bold"))
    for line in _length(request, found):
        out.print(Text(plain(line, 1000)))
    out.print()
    out.print(_cells(found.plan))
    for reason, count in by_reason(found.plan.excluded):
        out.print(Text(f"left out: {counted(count, 'cell')}: {plain(reason)}"))
    for unknown in found.unknown:
        out.print(Text(f"known only when it runs: {plain(unknown, 1000)}", style="yellow"))


def _length(request: Request, found: Foreseen) -> Iterator[str]:
    plan = found.plan
    against = f" against {_targets(request)}" if file_kind(request.experiment).has_server else ""
    about = f"about {duration(found.seconds)}"
    most = ""
    if found.at_least is not None:
        most = " at most"
        about = (
            f"{duration(found.at_least)} to {duration(found.seconds)}, until the answer is known"
        )
    if found.at_most:
        steps = counted(found.trials, "step")
        yield f"{counted(len(plan.cells), 'cell')}{against}: {steps} at most, {about}"
    else:
        yield (
            f"{counted(len(plan.cells), 'cell')} × {counted(plan.blocks, 'block')}{against}: "
            f"{counted(found.trials, 'trial')}{most}, {about}"
        )
    if request.seed is not None:
        yield f"seed {request.seed}"


def _targets(request: Request) -> str:
    return ", ".join(request.experiment.levels("server") or request.targets)


def _cells(plan: Plan) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("cell", overflow="fold")
    for number, cell in enumerate(plan.cells, start=1):
        table.add_row(str(number), Text(plain(cell_label(cell.factors))))
    return table
