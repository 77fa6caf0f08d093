"""`tlslab doctor`: is this machine fit to measure?"""

import json
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from tlslab.cli.console import conclude, out
from tlslab.cli.options import AS_JSON, option
from tlslab.domain.errors import CannotRunError
from tlslab.domain.wording import counted

if TYPE_CHECKING:
    from tlslab.lab.preflight import Check

MARKS = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "hard": "[bold red]fault[/]"}

EXAMPLE = "tlslab doctor"


def command(
    connections: int = option(
        "Intended number of connections in flight.", "-c", "--connections", default=64, min=1
    ),
    as_json: bool = AS_JSON,
) -> int:
    """Check this machine; print each fault with its remedy. Ends with 3 if a run cannot start."""
    from tlslab.lab.preflight import check_all
    from tlslab.lab.store import to_json

    checks = check_all(connections)
    if as_json:
        typer.echo(json.dumps([to_json(check) for check in checks]))
    else:
        out.print(_table(checks))
    return _conclude(checks)


def _conclude(checks: "tuple[Check, ...]") -> int:
    """Prints the reason of the exit code; returns the exit code."""
    faults = sum(check.level == "hard" for check in checks)
    warnings = sum(check.level == "warning" for check in checks)
    reported = f"{counted(faults, 'fault')}, {counted(warnings, 'warning')}"
    if faults:
        return conclude(f"{reported}: no run can start here", CannotRunError.exit_code)
    return conclude(f"{reported}: runs can start here", 0)


def _table(checks: "tuple[Check, ...]") -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("check", no_wrap=True)
    table.add_column("", no_wrap=True)
    for heading in ("finding", "remedy"):
        table.add_column(heading, overflow="fold")
    for check in checks:
        table.add_row(check.name, MARKS[check.level], check.message, check.remedy)
    return table
