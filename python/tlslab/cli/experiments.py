"""`tlslab experiments`: what can be run."""

import json
from collections.abc import Mapping

import typer
from rich.table import Table

from tlslab.cli.console import conclude, out
from tlslab.cli.options import AS_JSON
from tlslab.domain.experiment import Experiment
from tlslab.domain.wording import counted
from tlslab.experiment import load, shipped

EXAMPLE = "tlslab experiments"


def command(
    as_json: bool = AS_JSON,
) -> int:
    """List the shipped experiments."""
    from tlslab.lab.store import to_json

    found = {name: load(name) for name in shipped()}
    if as_json:
        data = [
            {
                "name": name,
                "title": each.title,
                "kind": each.kind,
                "factors": {factor.name: list(factor.levels) for factor in each.factors},
                "blocks": each.blocks,
                "workload": to_json(each.workload),
            }
            for name, each in found.items()
        ]
        typer.echo(json.dumps(data))
    else:
        out.print(_table(found))
    return conclude(f"{counted(len(found), 'experiment')} listed", 0)


def _table(found: Mapping[str, Experiment]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("name", no_wrap=True)
    for heading in ("question", "factors"):
        table.add_column(heading, overflow="fold", min_width=20)
    for name, each in found.items():
        factors = "; ".join(f"{f.name}: {', '.join(f.levels)}" for f in each.factors)
        table.add_row(name, each.title, factors)
    return table
