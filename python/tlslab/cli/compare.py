"""`tlslab compare`: two run folders, one over the other."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tlslab import analysis, report
from tlslab.analysis.overlay import Side, overlay
from tlslab.cli.console import conclude, err, out, say
from tlslab.cli.options import AsJson, Version
from tlslab.lab.run import read_contents
from tlslab.model.errors import StoreError, UsageError
from tlslab.model.finding import Summary
from tlslab.model.wording import counted
from tlslab.store import RunFolder, to_json

EXIT_VERDICT = 1


def command(
    first: Annotated[Path, typer.Argument(metavar="A", help="A run folder.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another of the same kind.")],
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="A folder for the page with the figures.")
    ] = None,
    as_json: AsJson = False,
    _version: Version = False,
) -> None:
    """Lay two runs over each other: B over A, as ratios of the cells that they share.

    Ends with 1 when no cell could be compared.
    """
    if out_dir is not None and out_dir.resolve() in (first.resolve(), second.resolve()):
        raise UsageError("--out is one of the runs: give a folder of its own")
    names = _names(first, second)
    summary = overlay(Side(names[0], _read(first)), Side(names[1], _read(second)))
    words = ("tlslab", "compare", str(first), str(second))
    summary = replace(summary, environment=replace(summary.environment, command=words))
    if as_json:
        typer.echo(json.dumps(to_json(summary), allow_nan=False))
    else:
        out.print(report.render_text(summary))
    if out_dir is not None:
        RunFolder.write_comparison(out_dir, summary, report.render_html(summary))
        err.print(f"report: {out_dir / 'report.html'}", soft_wrap=True, markup=False)
    for path in (first, second):
        for damage in RunFolder.open(path).damages():
            say(f"warning: {damage}")
    raise typer.Exit(_conclude(summary))


def _conclude(summary: Summary) -> int:
    """Prints the reason of the exit code; the exit code."""
    ratios = summary.comparisons
    if not ratios:
        return conclude("no cell has a value in both runs", EXIT_VERDICT)
    bare = sum(each.verdict == "not_comparable" for each in ratios)
    reported = counted(len(ratios), "ratio")
    if bare:
        reported += (
            f", {bare} of them without a verdict (one trial, a lower bound, an invalid cell)"
        )
    return conclude(reported, 0)


def _read(path: Path) -> Summary:
    """A run's summary. Raises StoreError for a run without any trial."""
    folder = RunFolder.open(path)
    contents = read_contents(folder)
    if not contents.trials:
        damages = "; ".join(folder.damages()) or f"{path} holds no trial"
        raise StoreError(f"nothing to compare: {damages}")
    return analysis.summarise(contents)


def _names(first: Path, second: Path) -> tuple[str, str]:
    """The folders' own names, where they tell them apart."""
    names = (first.resolve().name[:60], second.resolve().name[:60])
    return names if names[0] != names[1] else ("A", "B")
