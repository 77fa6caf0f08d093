"""`tlslab compare`: two run folders, one over the other."""

import json
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tlslab import analysis, report
from tlslab.analysis.compare import EQUIVALENCE
from tlslab.analysis.gate import gate
from tlslab.analysis.overlay import Side, overlay
from tlslab.cli.console import conclude, err, say, show, write_utf8
from tlslab.cli.gate import gate_lines, gate_words
from tlslab.cli.options import AsJson, Details, Version, as_share
from tlslab.lab.run import read_contents
from tlslab.model.errors import StoreError, UsageError
from tlslab.model.finding import Summary
from tlslab.model.suggest import did_you_mean
from tlslab.model.wording import counted
from tlslab.store import RunFolder, to_json

EXIT_VERDICT = 1
EXIT_CANNOT_TELL = 4

GATE_CODES = {"passed": 0, "slower": EXIT_VERDICT, "cannot_tell": EXIT_CANNOT_TELL}


class Form(StrEnum):
    """The forms of a comparison, beside JSON."""

    text = "text"
    markdown = "markdown"
    csv = "csv"


def command(
    first: Annotated[Path, typer.Argument(metavar="A", help="A run folder.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another of the same kind.")],
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="A folder for the page with the figures.")
    ] = None,
    equivalence: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Call two cells equivalent when their ratio's interval lies within this of 1: 3%. "
            "10% by default.",
        ),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            "--gate",
            metavar="PERCENT",
            help="Hold B against A: exit 1 when B is established to be slower by more than this, 0 "
            "when that is excluded, 4 when neither is established.",
        ),
    ] = None,
    gate_by: Annotated[
        list[str] | None,
        typer.Option(
            "--gate-by",
            metavar="ESTIMATE",
            help="What the gate looks at, as it is named in summary.json; the rate by default. "
            "May be repeated.",
        ),
    ] = None,
    format_: Annotated[
        Form, typer.Option("--format", help="text, markdown (for pull requests), or csv.")
    ] = Form.text,
    details: Details = False,
    as_json: AsJson = False,
    _version: Version = False,
) -> None:
    """Lay two runs over each other: B over A, as ratios of the cells that they share.

    Ends with 1 when no cell could be compared; with --gate by what the gate says.
    """
    margin = EQUIVALENCE if equivalence is None else as_share(equivalence, "--equivalence")
    allowed = None if limit is None else as_share(limit, "--gate")
    if gate_by and allowed is None:
        raise UsageError("--gate-by goes with --gate", "add, for instance, --gate 3%")
    if out_dir is not None and out_dir.resolve() in (first.resolve(), second.resolve()):
        raise UsageError("--out is one of the runs: give a folder of its own")
    names = _names(first, second)
    summary = overlay(Side(names[0], _read(first)), Side(names[1], _read(second)), margin)
    words = ("tlslab", "compare", str(first), str(second))
    summary = replace(summary, environment=replace(summary.environment, command=words))
    more = () if details else (*words, "--details")
    _print(summary, format_, more, as_json)
    if out_dir is not None:
        RunFolder.write_comparison(out_dir, summary, report.render_html(summary))
        err.print(f"report: {out_dir / 'report.html'}", soft_wrap=True, markup=False)
    for path in (first, second):
        for damage in RunFolder.open(path).damages():
            say(f"warning: {damage}")
    if allowed is None:
        raise typer.Exit(_conclude(summary))
    raise typer.Exit(_conclude_gate(summary, allowed, gate_by or []))


def _print(summary: Summary, form: Form, more: tuple[str, ...], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(to_json(summary), allow_nan=False))
    elif form == Form.markdown:
        write_utf8(report.render_markdown(summary))
    elif form == Form.csv:
        write_utf8(report.render_csv(summary))
    else:
        show(report.render_text(summary, more))


def _conclude(summary: Summary) -> int:
    """Prints the reason of the exit code; the exit code."""
    ratios = [each for each in summary.comparisons if each.n]
    if not ratios:
        return conclude("no cell has a value in both runs", EXIT_VERDICT)
    bare = sum(each.verdict == "not_comparable" for each in ratios)
    reported = counted(len(ratios), "ratio")
    if bare:
        reported += (
            f", {bare} of them without a verdict (one trial, a lower bound, an invalid cell)"
        )
    return conclude(reported, 0)


def _conclude_gate(summary: Summary, limit: float, estimates: list[str]) -> int:
    """Prints what the gate says of each ratio, and why it ends so; the exit code."""
    known = {each.estimate for each in summary.comparisons}
    for name in estimates:
        if name not in known:
            meant = did_you_mean(name, known)
            raise UsageError(
                f"--gate-by {name}: the runs have no such ratio",
                meant or f"one of {', '.join(sorted(known))}",
            )
    found = gate(summary.comparisons, limit, estimates)
    for line in gate_lines(found):
        say(line)
    return conclude(gate_words(found), GATE_CODES[found.verdict])


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
