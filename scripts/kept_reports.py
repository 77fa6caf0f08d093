#!/usr/bin/env python3
"""Makes the pages of kept reports, docs/reports/NAME/report.html, and their figures.json.

    .venv/bin/python scripts/kept_reports.py [NAME...]

Without names: all. A report whose trials are kept is analysed by today's code. For the others the
kept summary is rendered; `scripts/keep-report.sh RUN_FOLDER NAME` analyses the run folder anew.
"""

import json
import lzma
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import kept_figures

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


def main(names: list[str]) -> int:
    """Writes the named pages and their content as data."""
    if unknown := set(names) - set(kept_names()):
        sys.stderr.write(f"kept_reports.py: no kept report {', '.join(sorted(unknown))}\n")
        return 2
    for name in names or kept_names():
        page = kept_page(name)
        (REPORTS / name / "report.html").write_text(page, "utf-8")
        text = kept_figures.text(kept_figures.figures(page))
        (REPORTS / name / "figures.json").write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
