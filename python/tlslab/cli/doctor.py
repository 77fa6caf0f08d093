"""`tlslab doctor`: is this machine fit to measure?"""

from typing import Annotated

import typer
from rich.table import Table

from tlslab.cli.console import out
from tlslab.lab.preflight import Check, check_all
from tlslab.model.errors import CannotRunError

MARKS = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "hard": "[bold red]fault[/]"}


def command(
    connections: Annotated[
        int, typer.Option("-c", "--connections", min=1, help="Connections in flight.")
    ] = 64,
) -> None:
    """Check the machine; each fault with its remedy. Ends with 3 when a run could not start."""
    checks = check_all(connections)
    out.print(_table(checks))
    if any(check.level == "hard" for check in checks):
        raise typer.Exit(CannotRunError.exit_code)


def _table(checks: tuple[Check, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("check", "", "finding", "remedy"):
        table.add_column(heading, overflow="fold")
    for check in checks:
        table.add_row(check.name, MARKS[check.level], check.message, check.remedy)
    return table
