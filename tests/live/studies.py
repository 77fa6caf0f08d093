"""The shipped studies as the tests call them, and the required content of each run folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from live.drawn import OF_VERDICTS, drawn
from live.harness import trials
from tlslab.domain.run_record import STARVED

# Time limit of the longest study on a busy machine.
SECONDS = 500

# Tables of a run that compares settings with each other.
GRADED = {"security", "policies"}

# Reasons of a cell without a usable trial for which the machine is to blame, not the lab.
STARVED_SIDES = {STARVED, "server_starved"}
OF_THE_MACHINE = {*STARVED_SIDES, "nothing_completed"}


@dataclass(frozen=True)
class Study:
    """A study, and the figures and tables that its page must have.

    `flags` are those of its quick form. `shown`: the command, without `tlslab run`, by which a
    document makes the study, shortened by TLSLAB_SHORT_RUNS; empty for none. `judged_in`: the test
    file that makes the study for tests of its own, and judges it, too; empty for test_studies.py.
    """

    name: str
    flags: Sequence[str] = ()
    figures: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    shown: str = ""
    judged_in: str = ""


STUDIES = (
    Study(
        "groups",
        ("--target", "nginx"),
        tables=frozenset({"security", "policies"}),
        judged_in="test_recommended_configurations.py",
    ),
    Study("offload", shown="offload"),
    # Shortened by TLSLAB_SHORT_RUNS, it has no figure of servers.
    Study("servers", ("--seconds", "0.3"), figures=frozenset({"servers-rate"})),
    Study(
        "suites",
        ("--target", "nginx"),
        tables=frozenset({"security", "policies"}),
        shown="suites --target node,nginx,apache",
    ),
    Study(
        "runtimes",
        figures=frozenset({"warm-up", "maximum"}),
        tables=frozenset({"warm-up-table", "published"}),
        shown="runtimes",
    ),
    Study(
        "concurrency",
        ("--blocks", "1", "--set", "threads=1,2"),
        tables=frozenset({"scaling", "processors", "drawing", "published"}),
        judged_in="test_benchmarks.py",
    ),
    Study(
        "capacity",
        ("--target", "nginx"),
        frozenset({"search", "maximum", "cpu-load"}),
        frozenset({"maxima", "validation", "published"}),
        shown="capacity --target nginx,apache",
    ),
)


def study_named(name: str) -> Study:
    """The study of this name."""
    return next(each for each in STUDIES if each.name == name)


def assert_whole(folder: Path, study: Study) -> None:
    """The whole run was carried out, and its page has the figures and tables of the study."""
    made = [json.loads(line) for line in trials(folder)]
    assert {trial["status"] for trial in made} <= {"done", "unsupported"}, _reasons(made)
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    assert summary["cells"]
    counted = [cell for cell in summary["cells"] if cell["verdict"] != "unsupported"]
    # On a busy machine a short window may pass without a connection, and either side may have
    # waited for its processor for so much of it that nothing counts.
    spoilt = [cell for cell in counted if not cell["trials"]]
    reasons = {cell["key"]: {note["code"] for note in cell["reasons"]} for cell in spoilt}
    assert all(codes & OF_THE_MACHINE for codes in reasons.values()), reasons
    lacking = [key for key, codes in reasons.items() if not codes & STARVED_SIDES]
    assert len(lacking) < min(len(counted), max(2, len(counted) / 5)), reasons
    answer = summary["answer"]
    assert answer["question"]
    assert (answer["lacking"] is None) == bool(answer["sentences"])
    # A run without sentences gives the reason.
    assert answer["lacking"] is not None or summary["findings"]
    wanted = study.figures - (OF_VERDICTS - drawn(summary, made))
    assert wanted <= {figure["id"] for figure in summary["figures"]}
    # A run without any place has no grades of what leads.
    tables = study.tables if summary["rankings"] else study.tables - GRADED
    assert tables <= {table["id"] for table in summary["tables"]}
    assert (folder / "report.html").stat().st_size > 0


def _reasons(made: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"{trial['cell']}: {trial['reason']}" for trial in made if trial["reason"]]


def made_by(folder: Path, command: str) -> list[Path]:
    """The run folders below a folder that were made by `tlslab run COMMAND`."""
    wanted = ["tlslab", "run", *command.split()]
    return [
        path.parent
        for path in sorted(folder.glob("*/environment.json"))
        if json.loads(path.read_text("utf-8"))["command"] == wanted
    ]
