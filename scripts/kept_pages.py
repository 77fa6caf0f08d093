"""Kept reports whose trials are kept, rendered anew as today's pages.

Module of report_gallery.py and before_and_after.py.
"""

import lzma
import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
REPORTS = ROOT / "docs/reports"

TRIALS = "trials.jsonl"
PACKED = f"{TRIALS}.xz"


def kept_names() -> list[str]:
    """The kept reports that have their trials."""
    return sorted(path.parent.name for path in REPORTS.glob(f"*/{PACKED}"))


def kept_page(name: str) -> str:
    """The page of a kept report by today's analysis."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / name
        folder.mkdir()
        for file in ("experiment.toml", "environment.json", "plan.json"):
            shutil.copy(REPORTS / name / file, folder)
        (folder / TRIALS).write_bytes(lzma.decompress((REPORTS / name / PACKED).read_bytes()))
        return page_of(folder)


def page_of(folder: Path) -> str:
    """The page of a run folder by today's analysis."""
    from tlslab.lab.results import analyse
    from tlslab.report import render_html
    from tlslab.store import RunFolder

    return render_html(analyse(RunFolder.open(folder)))
