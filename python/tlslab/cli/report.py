"""`tlslab report`: the results of a run folder, analysed again, in one of several formats."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from tlslab.cli.console import conclude, say, show_report, write_utf8
from tlslab.cli.ending import exit_code, reason
from tlslab.cli.options import AS_JSON, DETAILS, RUN_FOLDER, option
from tlslab.domain.errors import UsageError

if TYPE_CHECKING:
    from tlslab.domain.finding import Summary
    from tlslab.lab.store import RunFolder


class ReportFormat(StrEnum):
    """The forms of a report."""

    text = "text"
    html = "html"
    markdown = "markdown"
    csv = "csv"
    json = "json"
    ab = "ab"
    folded = "folded"


EXAMPLE = "tlslab report runs/groups-nginx"


def command(
    folder: Path = RUN_FOLDER,
    format_: ReportFormat = option(
        "Format of standard output. ab: the form of ab; folded: the call stacks of --why.",
        "--format",
        default=ReportFormat.text,
    ),
    details: bool = DETAILS,
    as_json: bool = AS_JSON,
) -> int:
    """Analyse a run folder again and print its report; write nothing to the folder.

    Ends like the run: with 1 if a cell has no result that may be used.
    """
    from tlslab.lab.results import analyse
    from tlslab.lab.store import RunFolder

    if as_json:
        format_ = ReportFormat.json
    run = RunFolder.open(folder)
    if format_ is ReportFormat.folded:
        write_utf8(_folded(run))
        return 0
    summary = analyse(run)
    if format_ is ReportFormat.text:
        show_report(summary, details, (str(folder),))
    else:
        _print(summary, format_)
    for damage in run.damages():
        say(f"warning: {damage}")
    why = reason([cell.verdict for cell in summary.cells])
    return conclude(why, exit_code(summary))


def _folded(run: "RunFolder") -> str:
    """Folded stacks, each with its cell as the first frame: the input of flame graph tools."""
    sampled = [each for each in run.stacks() if each.folded]
    if not sampled:
        raise UsageError(
            f"{run.path} has no call stacks", "`tlslab run EXPERIMENT --why` samples them"
        )
    lines = [f"{each.cell};{line}" for each in sampled for line in each.folded.splitlines()]
    return "\n".join(lines) + "\n"


def _print(summary: "Summary", format_: ReportFormat) -> None:
    from tlslab import report
    from tlslab.lab.store import to_json

    match format_:
        case ReportFormat.html:
            write_utf8(report.render_html(summary))
        case ReportFormat.markdown:
            write_utf8(report.render_markdown(summary))
        case ReportFormat.csv:
            write_utf8(report.render_csv(summary))
        case ReportFormat.json:
            sys.stdout.write(json.dumps(to_json(summary), allow_nan=False, indent=1) + "\n")
        case ReportFormat.ab:
            sys.stdout.write(report.render_ab(summary))
