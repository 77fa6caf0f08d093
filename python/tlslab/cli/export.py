"""`tlslab export`: a run's raw results for other tools."""

import json
import sys
from pathlib import Path

from tlslab.cli.console import conclude, say
from tlslab.cli.options import AS_JSON, RUN_FOLDER, option
from tlslab.domain.command_line import ExportFormat
from tlslab.domain.wording import counted

EXAMPLE = "tlslab export runs/groups-nginx --format csv --out tables"


def command(
    folder: Path = RUN_FOLDER,
    format_: ExportFormat = option(
        "Format of the files; hgrm has percentiles of histograms.",
        "--format",
        default=ExportFormat.csv,
    ),
    out: Path | None = option("Folder to write to; DIR/export-FORMAT by default.", metavar="DIR"),
    as_json: bool = AS_JSON,
) -> int:
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
    return conclude(f"{counted(len(written), 'file')} written", 0)
