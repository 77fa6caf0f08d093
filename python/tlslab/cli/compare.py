"""`tlslab compare`: two run folders, one over the other."""

from pathlib import Path
from typing import Annotated

import typer

from tlslab import analysis, report
from tlslab.analysis.overlay import Side, overlay
from tlslab.cli.console import err, out
from tlslab.lab.run import read_contents
from tlslab.model.errors import UsageError
from tlslab.model.finding import Summary
from tlslab.store import RunFolder


def command(
    first: Annotated[Path, typer.Argument(metavar="A", help="A run folder.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another of the same kind.")],
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="A folder for the page with the figures.")
    ] = None,
) -> None:
    """Lay two runs over each other: B over A, as ratios of the cells that they share."""
    if out_dir is not None and out_dir.resolve() in (first.resolve(), second.resolve()):
        raise UsageError("--out is one of the runs: give a folder of its own")
    names = _names(first, second)
    summary = overlay(Side(names[0], _read(first)), Side(names[1], _read(second)))
    out.print(report.render_text(summary))
    if out_dir is not None:
        RunFolder.write_comparison(out_dir, summary, report.render_html(summary))
        err.print(f"report: {out_dir / 'report.html'}", soft_wrap=True, markup=False)


def _read(path: Path) -> Summary:
    return analysis.summarise(read_contents(RunFolder.open(path)))


def _names(first: Path, second: Path) -> tuple[str, str]:
    """The folders' own names, where they tell them apart."""
    names = (first.resolve().name[:60], second.resolve().name[:60])
    return names if names[0] != names[1] else ("A", "B")
