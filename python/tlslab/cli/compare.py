"""`tlslab compare`: a comparison of two run folders, or of two servers of one run."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tlslab.cli.console import conclude, show, write_utf8
from tlslab.cli.ending import EXIT_VERDICT
from tlslab.cli.options import AsJson, Details, Version
from tlslab.cli.values import as_share
from tlslab.domain.errors import UsageError
from tlslab.domain.wording import counted

if TYPE_CHECKING:
    from tlslab.domain.finding import Summary


class Form(StrEnum):
    """The forms of a comparison, in addition to JSON."""

    text = "text"
    markdown = "markdown"
    csv = "csv"


First = Annotated[Path, typer.Argument(metavar="A", help="Run folder of the baseline.")]
Second = Annotated[
    Path | None,
    typer.Argument(
        metavar="[B]",
        help="Run folder of the candidate; without it, the two servers that A measured in turns.",
    ),
]
PageFolder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder for the page with the figures."),
]
Equivalence = Annotated[
    str | None,
    typer.Option(
        metavar="PERCENT",
        help="Largest difference at which two cells are equivalent: the interval of their ratio "
        "lies within this of 1; 10% by default.",
    ),
]
Limit = Annotated[
    str | None,
    typer.Option(
        "--gate",
        metavar="PERCENT",
        help="Exit code for a job: 1 if B is established to be slower than A by more than this, 0 "
        "if that is excluded, 4 if neither.",
    ),
]
GateBy = Annotated[
    list[str] | None,
    typer.Option(
        "--gate-by",
        metavar="ESTIMATE",
        help="Estimate that the gate compares, by its name in summary.json; repeatable; the rates "
        "by default.",
    ),
]
FormOption = Annotated[
    Form, typer.Option("--format", help="Format of standard output; markdown is for pull requests.")
]


def command(
    first: First,
    second: Second = None,
    out_dir: PageFolder = None,
    equivalence: Equivalence = None,
    limit: Limit = None,
    gate_by: GateBy = None,
    format_: FormOption = Form.text,
    details: Details = False,
    as_json: AsJson = False,
    _version: Version = False,
) -> None:
    """Compare two runs of one kind, or two servers of one run: B over A, as ratios of their cells.

    Ends with 1 if no cell could be compared. With --gate the exit code is the gate's verdict.
    """
    from tlslab.cli import comparing

    margin = None if equivalence is None else as_share(equivalence, "--equivalence")
    allowed = None if limit is None else as_share(limit, "--gate")
    if gate_by and allowed is None:
        raise UsageError("--gate-by needs --gate", "add, for instance, --gate 3%")
    runs = (first,) if second is None else (first, second)
    if out_dir is not None and out_dir.resolve() in [run.resolve() for run in runs]:
        raise UsageError(f"--out {out_dir} is one of the runs", "give another folder")
    if second is None:
        summary = comparing.compared_servers(first, margin)
    else:
        summary = comparing.compared(first, second, margin)
    asked = ("--equivalence", equivalence) if equivalence is not None else ()
    more = () if details else (*summary.environment.command, *asked, "--details")
    _print(summary, format_, more, as_json)
    if out_dir is not None:
        comparing.write_page(out_dir, summary)
    comparing.warn_of_damages(runs)
    if allowed is None:
        raise typer.Exit(_conclude(summary))
    raise typer.Exit(comparing.conclude_gate(summary, allowed, gate_by or []))


def _print(summary: "Summary", form: Form, more: tuple[str, ...], as_json: bool) -> None:
    from tlslab import report
    from tlslab.lab.store import to_json

    if as_json:
        typer.echo(json.dumps(to_json(summary), allow_nan=False))
    elif form == Form.markdown:
        write_utf8(report.render_markdown(summary))
    elif form == Form.csv:
        write_utf8(report.render_csv(summary))
    else:
        show(report.render_text(summary, more))


def _conclude(summary: "Summary") -> int:
    """Prints the reason of the exit code; returns the exit code."""
    ratios = [each for each in summary.comparisons if each.n]
    if not ratios:
        return conclude("nothing was compared: no cell has a value on both sides", EXIT_VERDICT)
    bare = sum(each.verdict == "not_comparable" for each in ratios)
    reported = counted(len(ratios), "ratio")
    if bare:
        reported += f", {bare} of them without a verdict (see the table for the reasons)"
    return conclude(reported, 0)
