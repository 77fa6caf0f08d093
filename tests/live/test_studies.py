"""Each study with --quick, as a user calls it, on real servers: whole, and what it is for.

Those that take minutes are cut short: TLSLAB_FULL_STUDIES=1 has them in full.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from live.harness import Tlslab, trials
from tlslab.experiment.short import VARIABLE

FULL = os.environ.get("TLSLAB_FULL_STUDIES", "") not in ("", "0")

# What the longest of them may take on a busy machine.
SECONDS = 500


@dataclass(frozen=True)
class Study:
    """How a study is called, and the figures and tables that its page must have.

    `cut`: by TLSLAB_SHORT_RUNS, since its quick form takes minutes.
    """

    name: str
    flags: Sequence[str] = ()
    figures: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    cut: bool = False


STUDIES = (
    Study("groups", ("--target", "nginx"), tables=frozenset({"security", "policies"})),
    Study("offload", cut=True),
    Study("servers", figures=frozenset({"servers-rate"})),
    Study("suites", ("--target", "nginx"), tables=frozenset({"security", "policies"}), cut=True),
    Study(
        "runtimes",
        figures=frozenset({"warm-up", "maximum"}),
        tables=frozenset({"warm-up-table", "published"}),
        cut=True,
    ),
    Study(
        "concurrency",
        ("--blocks", "1", "--set", "threads=1,2"),
        tables=frozenset({"scaling", "processors", "drawing", "published"}),
    ),
    Study(
        "capacity",
        ("--target", "nginx"),
        frozenset({"search", "maximum", "cpu-load"}),
        frozenset({"maxima", "validation", "published"}),
    ),
)


# Its signing nodes have to answer within a second, and other tests take their processors.
ALONE = frozenset({"concurrency"})


def _parameter(study: Study) -> Any:
    marks = (pytest.mark.alone,) if study.name in ALONE else ()
    return pytest.param(study, id=study.name, marks=marks)


@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize("study", [_parameter(study) for study in STUDIES])
def test_a_quick_study_is_carried_out_whole(study: Study, tlslab: Tlslab, tmp_path: Path) -> None:
    cut = {VARIABLE: "1"} if study.cut and not FULL else {}
    child = tlslab.start("run", study.name, "--quick", "--out", "r", *study.flags, **cut)
    ended = tlslab.finish(child, SECONDS)
    # Intervals and validity depend on what else the machine does; that there are results does not.
    assert ended.code in (0, 1), ended.err
    made = [json.loads(line) for line in trials(tmp_path / "r")]
    assert {trial["status"] for trial in made} <= {"done", "unsupported"}, _reasons(made)
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert summary["cells"]
    assert all(cell["trials"] for cell in summary["cells"] if cell["verdict"] != "unsupported")
    answer = summary["answer"]
    assert answer["question"]
    assert (answer["lacking"] is None) == bool(answer["sentences"])
    # What carries no sentence says why.
    assert answer["lacking"] is not None or summary["findings"]
    assert study.figures <= {figure["id"] for figure in summary["figures"]}
    assert study.tables <= {table["id"] for table in summary["tables"]}
    assert (tmp_path / "r" / "report.html").stat().st_size > 0


def _reasons(made: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"{trial['cell']}: {trial['reason']}" for trial in made if trial["reason"]]
