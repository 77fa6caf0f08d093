"""A kept page is what today's code makes of its kept trials, or of its kept summary."""

import json
import lzma
import re
import shutil
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from kept.figures import REPORTS, kept
from kept.scripts import script
from tlslab.report.html import HEAVIEST

pytestmark = pytest.mark.slow

kept_reports, kept_figures = script("kept_reports"), script("kept_figures")

# Their packed trials exceed the 1.5 MB of scripts/keep-report.sh: the page is rendered again, and
# its analysis is that of the summary.
OF_SUMMARIES = {
    "balancing",
    "capacity",
    "capacity-as-published",
    "capacity-history",
    "offload",
    "runtimes",
    "suites",
    "suites-node",
}

FEW = re.compile(r"\d blocks?: fewer than 5 carry no sentence\.")

INTERVAL = re.compile(r"\(-?[\d.,]+-{1,2}[\d.,]+\)")


def intervals(found: Mapping[str, Any]) -> Iterator[str]:
    """The cells of all tables that have an interval."""
    for name, table in found["tables"].items():
        for row in table["rows"]:
            yield from (f"{name}, {row[0]}: {cell}" for cell in row if INTERVAL.search(cell))


def differences(made: Mapping[str, Any], name: str) -> list[str]:
    """The lines in which the kept figures of a report differ from those of a page."""
    old = (REPORTS / name / "figures.json").read_text("utf-8")
    new = kept_figures.text(made)
    return [*unified_diff(old.splitlines(), new.splitlines(), "kept", "made", lineterm="", n=0)]


def test_reports_without_trials_are_the_known_ones() -> None:
    names = kept_reports.kept_names()
    assert {name for name in names if not kept_reports.has_trials(name)} == OF_SUMMARIES


@pytest.mark.parametrize("name", kept_reports.kept_names())
def test_a_page_says_what_is_kept_of_it_and_is_light(name: str) -> None:
    page = kept_reports.kept_page(name)
    made = kept_figures.figures(page)
    assert differences(made, name) == [], f"run scripts/kept_reports.py {name}"
    assert len(page.encode()) <= HEAVIEST


def test_a_trial_less_makes_another_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one of its five forks a report has no interval."""
    name = "concurrency-as-published"
    assert len([*intervals(kept(REPORTS, name))]) > 20
    shutil.copytree(REPORTS / name, tmp_path / name)
    packed = tmp_path / name / kept_reports.PACKED
    lines = lzma.decompress(packed.read_bytes()).splitlines(keepends=True)
    blocks = [json.loads(line)["block"] for line in lines]
    assert len(set(blocks)) == 5
    fewer = b"".join(line for line, block in zip(lines, blocks, strict=True) if block < max(blocks))
    packed.write_bytes(lzma.compress(fewer))
    monkeypatch.setattr(kept_reports, "REPORTS", tmp_path)
    made = kept_figures.figures(kept_reports.kept_page(name))
    assert differences(made, name) != []
    assert [*intervals(made)] == []
    assert FEW.search(" ".join(made["sentences"]))


def test_no_page_is_of_fewer_than_five_blocks() -> None:
    said = {name: " ".join(kept(REPORTS, name)["sentences"]) for name in kept_reports.kept_names()}
    assert [name for name, text in said.items() if FEW.search(text)] == []


def test_a_report_is_made_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "concurrency-as-published"
    shutil.copytree(REPORTS / name, tmp_path / name)
    (tmp_path / name / "figures.json").unlink()
    monkeypatch.setattr(kept_reports, "REPORTS", tmp_path)
    assert kept_reports.main([name]) == 0
    page = (tmp_path / name / "report.html").read_text("utf-8")
    assert differences(kept_figures.figures(page), name) == []
    assert (tmp_path / name / "figures.json").read_bytes() == (
        REPORTS / name / "figures.json"
    ).read_bytes()
    assert kept_reports.main(["gone"]) == 2
    assert "no kept report gone" in capsys.readouterr().err
