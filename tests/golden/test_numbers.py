"""Numbers, verdicts, codes and words of kept runs: one at least of each kind of experiment.

`runs/NAME` is a run folder (trials compressed). `numbers.json` has what its summary states beside
sentences, compared to nine digits (`sum` and numpy round otherwise elsewhere);
`report.txt` is its whole report on a terminal of 120 columns, `short.txt` the screen that
commands print, at 100 columns. All were made from measured runs; only the analysis, its words and
the reports are compared.
"""

import io
import json
import lzma
import math
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from kept.one_choice import assert_one_choice
from tlslab.domain.finding import Summary
from tlslab.lab.results import analyse
from tlslab.lab.store import RunFolder, to_json
from tlslab.report import render_short, render_text

RUNS = Path(__file__).parent / "runs"
NAMES = sorted(path.name for path in RUNS.iterdir() if path.is_dir())

# What `tlslab run` and others print at most: the report, the plan before it, and after it the place
# of the page and the reason of the exit code.
SCREEN = 40
BESIDE = (
    "baseline: my.conf",
    "candidate: new.conf",
    "about 44 s: 4 cells × 5 blocks against nginx, seed 7; results in runs/prove-nginx",
    "left out: 1 cell: nginx lacks it",
    "report: runs/x/report.html",
    "all 4 cells valid: exit 0",
)

# What a summary states, beside its drawings, tables and sentences.
STATED = (
    "cells", "comparisons", "rankings", "recommendation", "findings", "proof", "hosts", "why",
    "server_side",
)  # fmt: skip
DRAWN = ("figures", "tables", "flames")

# Text for readers has spaces, or is of one of these keys.
SENTENCES = ("text", "reasons", "words", "sentences", "note", "notes", "method", "label",
             "values")  # fmt: skip


def numbers(value: Any) -> Any:
    """Numbers, truth values, codes and keys of a summary; without sentences."""
    if isinstance(value, dict):
        return {
            key: kept
            for key, each in value.items()
            if key not in SENTENCES and (kept := numbers(each)) is not None
        }
    if isinstance(value, list):
        return [numbers(each) for each in value]
    return None if isinstance(value, str) and re.search(r"\s", value) else value


def shown(value: Any) -> list[float]:
    """All numbers below a value, whatever they belong to."""
    if isinstance(value, dict):
        return [number for each in value.values() for number in shown(each)]
    if isinstance(value, list):
        return [number for each in value for number in shown(each)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


Run = tuple[str, Summary]


def unpacked(name: str, into: Path) -> RunFolder:
    """The kept run as a run folder."""
    folder = into / name
    folder.mkdir()
    for path in (RUNS / name).iterdir():
        if path.suffix == ".xz":
            (folder / path.stem).write_bytes(lzma.decompress(path.read_bytes()))
        elif path.name not in ("numbers.json", "report.txt", "short.txt"):
            shutil.copy(path, folder)
    return RunFolder.open(folder)


@pytest.fixture(scope="module", params=NAMES)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A kept run: its name, and its summary as it is analysed now."""
    return request.param, analyse(unpacked(request.param, tmp_path_factory.mktemp("run")))


def test_a_kept_run_has_the_same_numbers(run: Run) -> None:
    name, analysed = run
    summary = to_json(analysed)
    stated = {key: numbers(summary.get(key)) for key in STATED}
    stated["drawn"] = sorted(shown([summary.get(key) for key in DRAWN]))
    stated = json.loads(json.dumps(stated))
    file = RUNS / name / "numbers.json"
    changed = differences(stated, json.loads(file.read_text("utf-8")))
    if changed and os.environ.get("UPDATE_GOLDEN"):
        file.write_text(json.dumps(stated, indent=1) + "\n", "utf-8")
        changed = []
    assert changed[:9] == []


def differences(found: Any, kept: Any, place: str = "") -> list[str]:
    """Where two values differ; numbers by more than the ninth digit."""
    if isinstance(found, dict) and isinstance(kept, dict):
        names = sorted(found.keys() | kept.keys())
        pairs = [(f"{place}/{name}", found.get(name), kept.get(name)) for name in names]
    elif isinstance(found, list) and isinstance(kept, list) and len(found) == len(kept):
        both = zip(found, kept, strict=True)
        pairs = [(f"{place}/{at}", one, other) for at, (one, other) in enumerate(both)]
    elif isinstance(found, float) and isinstance(kept, float):
        near = math.isclose(found, kept, rel_tol=1e-9, abs_tol=1e-12)
        return [] if near else [f"{place}: {found}, kept: {kept}"]
    else:
        return [] if found == kept else [f"{place}: {found!r:.60}, kept: {kept!r:.60}"]
    return [text for below, one, other in pairs for text in differences(one, other, below)]


def test_report_and_recommend_name_the_same_choice(run: Run, tmp_path: Path) -> None:
    name, summary = run
    if summary.recommendation is not None:
        assert_one_choice(unpacked(name, tmp_path), summary)


def test_a_kept_run_has_the_same_words(run: Run) -> None:
    name, summary = run
    assert_same_text(RUNS / name / "report.txt", printed(render_text(summary), 120))


def test_a_kept_run_is_answered_on_one_screen(run: Run) -> None:
    name, summary = run
    lines = printed(render_short(summary, (f"runs/{name}",)), 100)
    assert len([*lines, *BESIDE]) <= SCREEN
    assert max(map(len, lines)) <= 100
    assert_same_text(RUNS / name / "short.txt", lines)


def printed(report: RenderableType, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(report)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def assert_same_text(file: Path, lines: list[str]) -> None:
    """The lines are those of a golden file, or are written to it if an update is requested."""
    text = "".join(f"{line}\n" for line in lines)
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8")
