"""`tlslab experiments`: what can be run."""

from rich.table import Table

from tlslab.cli.console import out
from tlslab.experiment import load, shipped


def command() -> None:
    """List the shipped experiments."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("name", "question", "factors"):
        table.add_column(heading, overflow="fold")
    for name in shipped():
        experiment = load(name)
        factors = "; ".join(f"{f.name}: {', '.join(f.levels)}" for f in experiment.factors)
        table.add_row(name, experiment.title, factors)
    out.print(table)
