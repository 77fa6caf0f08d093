"""`tlslab history`: the same cells over many runs, and when they changed."""

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tlslab import analysis, report
from tlslab.analysis.history import SMALLEST, Run, history
from tlslab.cli.console import conclude, err, out, say, write_utf8
from tlslab.cli.options import AsJson, Version, as_share
from tlslab.lab.run import read_contents
from tlslab.model.errors import CannotRunError, StoreError, TlslabError, UsageError
from tlslab.model.history import History
from tlslab.store import RunFolder, run_folders, short_names, to_json

EXIT_CODES = {"not_slower": 0, "slower": 1, "cannot_tell": 4}


class Format(StrEnum):
    """The forms of a history."""

    text = "text"
    html = "html"
    markdown = "markdown"
    csv = "csv"
    json = "json"


def command(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...", help="Run folders; a folder with run folders in it stands for them."
        ),
    ],
    page: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Write the page with charts.")
    ] = None,
    smallest: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT", help="Changes of less than this do not count: 2%. 1% by default."
        ),
    ] = None,
    across_machines: Annotated[
        bool,
        typer.Option(
            "--across-machines",
            help="Join the runs of unlike machines, instead of one history each.",
        ),
    ] = False,
    format_: Annotated[
        Format,
        typer.Option(
            "--format", help="text, html, markdown, csv (a line for each value of a run), json."
        ),
    ] = Format.text,
    as_json: AsJson = False,
    _version: Version = False,
) -> None:
    """Find when the same cells became slower or faster over many runs, in the order of their start.

    Ends with 1 when a slowdown is in force at the newest run, with 4 when there are too few runs.
    """
    least = SMALLEST if smallest is None else as_share(smallest, "--smallest")
    if page is not None and page.suffix != ".html":
        raise UsageError(f"--out {page}: not a page", "give a file like history.html")
    runs = list(_distinct(_read_all(folders)))
    if not runs:
        raise StoreError("none of the runs can be used")
    found = history(runs, least, across_machines)
    _print(found, Format.json if as_json else format_)
    if page is not None:
        _write(page, report.render_history_html(found))
    raise typer.Exit(conclude(report.history_reason(found), EXIT_CODES[found.verdict]))


def _print(found: History, form: Format) -> None:
    match form:
        case Format.text:
            out.print(report.render_history_text(found))
        case Format.html:
            write_utf8(report.render_history_html(found))
        case Format.markdown:
            write_utf8(report.render_history_markdown(found))
        case Format.csv:
            write_utf8(report.render_history_csv(found))
        case Format.json:
            typer.echo(json.dumps(to_json(found), allow_nan=False))


def _read_all(paths: Sequence[Path]) -> Iterator[Run]:
    """The runs that can be read; a line on standard error for each of the others."""
    folders = run_folders(paths)
    for path, name in zip(folders, short_names(folders), strict=True):
        try:
            folder = RunFolder.open(path)
            contents = read_contents(folder)
            if not contents.trials:
                raise StoreError("; ".join(folder.damages()) or f"{path} holds no trial")
            run = Run(name, analysis.summarise(contents))
            run.began  # noqa: B018 (raises for a time that cannot be read)
        except TlslabError as error:
            say(f"warning: {name} is left out: {error.message}")
            continue
        for damage in folder.damages():
            say(f"warning: {damage}")
        yield run


def _distinct(runs: Iterator[Run]) -> Iterator[Run]:
    """Each run once: of a folder and its copies the first."""
    seen: dict[tuple[str, int, tuple[str, ...]], str] = {}
    for run in runs:
        what = run.summary
        key = (what.environment.created, what.experiment.seed, what.environment.command)
        if key in seen:
            say(f"warning: {run.name} is left out: it is the run of {seen[key]} once more")
            continue
        seen[key] = run.name
        yield run


def _write(page: Path, text: str) -> None:
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, "utf-8")
    except OSError as error:
        raise CannotRunError(
            f"{page}: {error.strerror or error}", "choose another place with --out"
        ) from None
    err.print(f"page: {page}", soft_wrap=True, markup=False)
