"""`tlslab compare`: a comparison of two run folders, or of two servers of one run."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tlslab.cli.console import conclude, show_report, write_utf8
from tlslab.cli.ending import EXIT_VERDICT
from tlslab.cli.options import AS_JSON, DETAILS, FINE, argument, option
from tlslab.cli.values import as_share
from tlslab.domain.errors import UsageError
from tlslab.domain.wording import counted

if TYPE_CHECKING:
    from tlslab.domain.finding import Summary


class TextForm(StrEnum):
    """The forms of a comparison, in addition to JSON."""

    text = "text"
    markdown = "markdown"
    csv = "csv"


EXAMPLE = "tlslab compare runs/before runs/after --gate 3%"


def command(
    first: Path = argument("Run folder of the baseline.", default=..., metavar="A"),
    second: Path | None = argument(
        "Run folder of the candidate; without it, the two servers that A measured in turns.",
        metavar="[B]",
    ),
    out_dir: Path | None = option("Folder for the page with the figures.", "--out", metavar="DIR"),
    equivalence: str | None = option(
        "Largest difference at which two cells are equivalent: the interval of their ratio "
        "lies within this of 1; 10% by default.",
        metavar="PERCENT",
    ),
    limit: str | None = option(
        "Exit code for a job: 1 if B is established to be slower than A by more than this, 0 "
        "if that is excluded, 4 if neither.",
        "--gate",
        metavar="PERCENT",
    ),
    gate_by: list[str] | None = option(
        "Estimate that the gate compares, by its name in summary.json; repeatable; by default "
        "the rates, and the server's processor time for a new connection.",
        "--gate-by",
        metavar="ESTIMATE",
        panel=FINE,
    ),
    format_: TextForm = option(
        "Format of standard output; markdown for pull requests.", "--format", default=TextForm.text
    ),
    details: bool = DETAILS,
    as_json: bool = AS_JSON,
) -> int:
    """Compare two runs of one kind, or two servers of one run: B over A, as ratios of their cells.

    Ends with 1 if no cell could be compared. With --gate the exit code is the gate's verdict.
    """
    from tlslab.cli import comparing
    from tlslab.report.brief import LINES
    from tlslab.words.gate import GATE

    allowed = None if limit is None else as_share(limit, "--gate")
    if gate_by and allowed is None:
        raise UsageError("--gate-by needs --gate", "add, for instance, --gate 3%")
    runs = (first,) if second is None else (first, second)
    if out_dir is not None and out_dir.resolve() in [run.resolve() for run in runs]:
        raise UsageError(f"--out {out_dir} is one of the runs", "give another folder")
    summary = comparing.compared(
        first, second, None if equivalence is None else as_share(equivalence, "--equivalence")
    )
    asked = ("--equivalence", equivalence) if equivalence is not None else ()
    is_text = not as_json and format_ is TextForm.text
    if is_text:
        show_report(summary, details, (*map(str, runs), *asked), LINES - (GATE if limit else 0))
    else:
        _print(summary, format_, as_json)
    if out_dir is not None:
        comparing.write_page(out_dir, summary)
    comparing.warn_of_damages(runs)
    if allowed is None:
        return _conclude(summary)
    return comparing.conclude_gate(summary, allowed, gate_by or [], details or not is_text)


def _print(summary: "Summary", form: TextForm, as_json: bool) -> None:
    from tlslab import report
    from tlslab.lab.store import to_json

    if as_json:
        typer.echo(json.dumps(to_json(summary), allow_nan=False))
    elif form == TextForm.markdown:
        write_utf8(report.render_markdown(summary))
    else:
        write_utf8(report.render_csv(summary))


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
