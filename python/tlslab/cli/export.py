"""`tlslab export`: a run's raw results for other tools."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tlslab.cli.console import conclude, say
from tlslab.cli.options import AsJson, RunFolderPath, Version
from tlslab.domain.command_line import Format
from tlslab.domain.wording import counted


def command(
    folder: RunFolderPath,
    format_: Annotated[
        Format,
        typer.Option("--format", help="Format of the files; hgrm has percentiles of histograms."),
    ] = Format.csv,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to write to; DIR/export-FORMAT by default."),
    ] = None,
    as_json: AsJson = False,
    _version: Version = False,
) -> None:
    """Write the raw results of a run, one file per table: trials, runs, seconds, histograms.

    In Python the same tables are `tlslab.open_run(DIR).trials()` and so on.
    """
    from tlslab.lab.export import export

    written = export(folder, format_, out or folder / f"export-{format_}")
    if as_json:
        sys.stdout.write(json.dumps({"files": [str(path) for path in written]}, indent=1) + "\n")
    else:
        for path in written:
            say(str(path))
    raise typer.Exit(conclude(f"{counted(len(written), 'file')} written", 0))
