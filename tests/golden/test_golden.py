"""Compares outputs with golden files, and reads old wire formats.

After an intended change: `UPDATE_GOLDEN=1 pytest tests/golden`, then review the difference.
"""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from factories.benchmarks import made_contents
from factories.capacity import CapacityWorld, Uneven, made_capacity_run, made_plan
from factories.costs import made_calibration
from factories.history import made_runs
from factories.run import World, made_run
from factories.worded import summarise
from tlslab.analysis.history import history
from tlslab.domain.capacity import Objective
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.experiment import load, with_levels
from tlslab.lab.results import analysed
from tlslab.lab.store import from_json, to_json
from tlslab.report import (
    render_ab,
    render_history_short,
    render_history_text,
    render_html,
    render_text,
)
from tlslab.report.brief import LINES
from tlslab.words import worded
from tlslab.words.history import with_loads

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def summary() -> Summary:
    few = {"tls": ("1.3", "1.2"), "key": ("ecdsa-p256",), "group": ("X25519", "P-384", "X448")}
    experiment = with_levels(load("groups", "quick"), few)
    return summarise(made_run(World(unsupported=frozenset({"X448"})), experiment=experiment))


def compare(name: str, text: str) -> None:
    """Compares with a golden file, or writes it if an update is requested."""
    path = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


def test_the_terminals_report(summary: Summary) -> None:
    compare("groups.txt", printed(render_text(summary), 120))


def test_the_terminals_history() -> None:
    """At 80 columns: a slowdown, one that was undone, and a single slow run at the end."""
    facts = [{"tlslab": "0.1.0"}] * 8 + [{"tlslab": "0.2.0"}] * 13
    slower = {
        "X25519": [1.0] * 8 + [1.12] * 6 + [1.0] * 7,
        "P-256": [1.0] * 20 + [1.3],
    }
    runs = made_runs(slower, facts=facts)
    found = with_loads(history(runs), {run.name: run.summary for run in runs})
    compare("history.txt", printed(render_history_text(found), 80))
    short = printed(render_history_short(found, ("runs",)), 80)
    compare("history-short.txt", short)
    assert len(short.splitlines()) <= LINES


def printed(report: RenderableType, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(report)
    assert isinstance(console.file, io.StringIO)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


# Runs whose findings kept runs have not: those have few repetitions.
MADE: dict[str, Callable[[], RunContents]] = {
    "benchmark": made_contents,
    "costs": lambda: made_calibration(noise=0.01),
    "capacity": lambda: made_capacity_run(
        {
            "nginx": CapacityWorld(alone=1100.0),
            "apache": Uneven(alone=700.0, seed=3),
            "haproxy": CapacityWorld(client_us=600.0, seed=5),
            "caddy": CapacityWorld(status=lambda step: "failed"),
        },
        made_plan(remedies=True, objective=Objective("p99", 5.0), repetitions=5),
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_sentences_of_findings_and_answer(name: str) -> None:
    summary = worded(analysed(MADE[name]()))
    answer = summary.answer
    assert answer is not None
    lines = [answer.question, *answer.sentences, answer.confidence]
    lines += [f"{finding.code}: {finding.text}" for finding in summary.findings]
    compare(f"sentences-{name}.txt", "".join(f"{line}\n" for line in lines))


def test_abs_blocks(summary: Summary) -> None:
    compare("groups-ab.txt", render_ab(summary))


def test_a_summary_of_the_first_format_can_still_be_read_and_shown() -> None:
    """`summary-3.json` is never updated: the first version wrote it."""
    stored = json.loads((FOLDER / "summary-3.json").read_text("utf-8"))
    assert stored["schema"] == "tlslab.summary/3"
    old = from_json(stored, Summary)
    assert len(old.cells) == 6
    read = to_json(old)["cells"][0]["estimates"]
    for name, estimate in stored["cells"][0]["estimates"].items():
        assert read[name].items() >= estimate.items()
    assert "X25519 carries" in render_html(old)
    assert "Server Software" in render_ab(old)
