"""`tlslab history`: the same cells over many runs, and when they changed."""

import json
from enum import StrEnum
from pathlib import Path

import typer

from tlslab.cli.console import conclude, err, out, show, write_utf8
from tlslab.cli.options import AS_JSON, DETAILS, FINE, argument, flag, option
from tlslab.cli.values import as_share
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.domain.history import History

EXIT_CODES = {"not_slower": 0, "slower": 1, "cannot_tell": 4}


class HistoryFormat(StrEnum):
    """The forms of a history."""

    text = "text"
    html = "html"
    markdown = "markdown"
    csv = "csv"
    json = "json"


EXAMPLE = "tlslab history runs --out history.html"


def command(
    folders: list[Path] = argument(
        "Run folders, or folders that contain run folders.", default=..., metavar="DIR..."
    ),
    page: Path | None = option("File for the page with charts.", "--out", metavar="FILE.html"),
    smallest: str | None = option(
        "Smallest change that counts: 2%; 1% by default.", metavar="PERCENT"
    ),
    across_machines: bool = flag(
        "Join the runs of unlike machines in one history.", "--across-machines", panel=FINE
    ),
    format_: HistoryFormat = option(
        "Format of standard output; csv has one line per value of a run.",
        "--format",
        default=HistoryFormat.text,
    ),
    details: bool = DETAILS,
    as_json: bool = AS_JSON,
) -> int:
    """Find when the same cells became slower or faster over many runs, ordered by start.

    Ends with 1 if a slowdown is in force at the newest run, with 4 if there are too few runs
    or a change needs another run to be established.
    """
    from tlslab import report
    from tlslab.analysis.history import SMALLEST, history
    from tlslab.cli.past_runs import usable_runs
    from tlslab.words.history import with_loads

    least = SMALLEST if smallest is None else as_share(smallest, "--smallest")
    if page is not None and page.suffix != ".html":
        raise UsageError(f"--out {page}: not a page", "give a file like history.html")
    runs = usable_runs(folders)
    found = with_loads(
        history(runs, least, across_machines), {run.name: run.summary for run in runs}
    )
    if format_ is HistoryFormat.text and not as_json:
        _show(found, details, folders)
    else:
        _print(found, HistoryFormat.json if as_json else format_)
    if page is not None:
        _write(page, report.render_history_html(found))
    return conclude(report.history_reason(found), EXIT_CODES[found.verdict])


def _show(found: History, details: bool, folders: list[Path]) -> None:
    from tlslab import report

    if details:
        out.print(report.render_history_text(found))
    else:
        show(report.render_history_short(found, tuple(map(str, folders))))


def _print(found: History, form: HistoryFormat) -> None:
    from tlslab import report
    from tlslab.lab.store import to_json

    match form:
        case HistoryFormat.html:
            write_utf8(report.render_history_html(found))
        case HistoryFormat.markdown:
            write_utf8(report.render_history_markdown(found))
        case HistoryFormat.csv:
            write_utf8(report.render_history_csv(found))
        case HistoryFormat.json:
            typer.echo(json.dumps(to_json(found), allow_nan=False))


def _write(page: Path, text: str) -> None:
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, "utf-8")
    except OSError as error:
        raise CannotRunError(
            f"{page}: {error.strerror or error}", "choose another place with --out"
        ) from None
    err.print(f"page: {page}", soft_wrap=True, markup=False)
