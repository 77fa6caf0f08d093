"""Kept reports by today's code: from their trials, or from their summary if these are not kept.

Module of render_kept.py, report_gallery.py and before_and_after.py.
"""

import json
import lzma
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tlslab.domain.finding import Summary

ROOT = Path(__file__).parents[1]
REPORTS = ROOT / "docs/reports"

TRIALS = "trials.jsonl"
PACKED = f"{TRIALS}.xz"
SUMMARY = "summary.json.xz"


def kept_names() -> list[str]:
    """All kept reports."""
    return sorted(path.parent.name for path in REPORTS.glob("*/plan.json"))


def has_trials(name: str) -> bool:
    """Whether the trials of a kept report are kept, so that it can be analysed anew."""
    return (REPORTS / name / PACKED).is_file()


def kept_page(name: str) -> str:
    """The page of a kept report by today's code."""
    from tlslab.report import render_html

    return render_html(_of_trials(name) if has_trials(name) else _of_summary(name))


def page_of(folder: Path) -> str:
    """The page of a run folder by today's analysis."""
    from tlslab.lab.results import analyse
    from tlslab.lab.store import RunFolder
    from tlslab.report import render_html

    return render_html(analyse(RunFolder.open(folder)))


def _of_trials(name: str) -> "Summary":
    """The summary from the trials, analysed anew."""
    from tlslab.lab.results import analyse
    from tlslab.lab.store import RunFolder

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / name
        folder.mkdir()
        for file in ("experiment.toml", "environment.json", "plan.json"):
            shutil.copy(REPORTS / name / file, folder)
        (folder / TRIALS).write_bytes(lzma.decompress((REPORTS / name / PACKED).read_bytes()))
        return analyse(RunFolder.open(folder))


def _of_summary(name: str) -> "Summary":
    """The kept summary."""
    from tlslab.domain.finding import Summary
    from tlslab.lab.store import from_json

    packed = (REPORTS / name / SUMMARY).read_bytes()
    return from_json(json.loads(lzma.decompress(packed)), Summary)
