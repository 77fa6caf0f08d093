"""`tlslab run --dry-run`: the plan, the exclusions, and the forecast duration."""

import json
import shlex
from collections.abc import Iterator, Sequence

import typer
from rich.table import Table
from rich.text import Text

from tlslab.cli.console import conclude, out
from tlslab.cli.options import Output
from tlslab.cli.shared_words import by_reason, span
from tlslab.domain.errors import UsageError
from tlslab.domain.plain import plain
from tlslab.domain.plan import Cell
from tlslab.domain.wording import cell_label, counted
from tlslab.experiment import file_kind
from tlslab.lab.experiment_run import foresee
from tlslab.lab.foresee import Foreseen, require_cells
from tlslab.lab.request import Request
from tlslab.lab.store import to_json

# The cells that a plan lists without --details.
CELLS = 24


def show(request: Request, output: Output) -> int:
    """Prints the plan; returns the exit code. Raises UsageError if no cell is left to run."""
    if request.resume is not None:
        raise UsageError(
            "--dry-run shows a new plan, and --resume goes on with an old one",
            f"leave --dry-run out to go on; {request.resume / 'plan.json'} is the plan, and "
            f"`tlslab report {shlex.quote(str(request.resume))}` says what is done",
        )
    found = foresee(request)
    require_cells(found.plan)
    if output.as_json:
        data = {"schema": "tlslab.dry-run/1", **to_json(found)}
        typer.echo(json.dumps(data, allow_nan=False))
    else:
        _print(request, found, output.details)
    return conclude("nothing was started, nothing was written", 0)


def _print(request: Request, found: Foreseen, details: bool) -> None:
    experiment = request.experiment
    out.print(Text(plain(experiment.title), style="bold"))
    for line in _length(request, found):
        out.print(Text(plain(line, 1000)))
    out.print()
    cells = found.plan.cells if details else found.plan.cells[:CELLS]
    out.print(_cells(cells))
    if others := len(found.plan.cells) - len(cells):
        out.print(Text(f"{counted(others, 'more cell')}: --details"))
    for reason, count in by_reason(found.plan.excluded):
        out.print(Text(f"left out: {counted(count, 'cell')}: {plain(reason)}"))
    for unknown in found.unknown:
        out.print(Text(f"known only when it runs: {plain(unknown, 1000)}", style="yellow"))


def _length(request: Request, found: Foreseen) -> Iterator[str]:
    plan = found.plan
    against = f" against {_targets(request)}" if file_kind(request.experiment).has_server else ""
    about = span(found.at_least, found.seconds)
    most = " at most" if found.at_least is not None else ""
    if found.at_most:
        steps = counted(found.trials, "step")
        yield f"{about}: {counted(len(plan.cells), 'cell')}{against}, {steps} at most"
    else:
        yield (
            f"{about}: {counted(len(plan.cells), 'cell')} × {counted(plan.blocks, 'block')}"
            f"{against}, {counted(found.trials, 'trial')}{most}"
        )
    if request.seed is not None:
        yield f"seed {request.seed}"


def _targets(request: Request) -> str:
    return ", ".join(request.experiment.levels("server") or request.targets)


def _cells(cells: Sequence[Cell]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("cell", overflow="fold")
    for number, cell in enumerate(cells, start=1):
        table.add_row(str(number), Text(plain(cell_label(cell.factors))))
    return table
