"""Studies with --quick, as a user calls them, on real servers: whole, and what each is for.

`groups`, `servers` and `concurrency` in full. Those that README shows are made by its test, cut
short, and judged there: TLSLAB_FULL_STUDIES=1 has them here in full, too.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from live.harness import Tlslab
from live.studies import STUDIES, Study, assert_whole

FULL = os.environ.get("TLSLAB_FULL_STUDIES", "") not in ("", "0")

# What the longest of them may take on a busy machine.
SECONDS = 500

# Its signing nodes have to answer within a second, and other tests take their processors.
ALONE = frozenset({"concurrency"})


def _parameter(study: Study) -> Any:
    marks = (pytest.mark.alone,) if study.name in ALONE else ()
    return pytest.param(study, id=study.name, marks=marks)


@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize("study", [_parameter(s) for s in STUDIES if FULL or not s.shown])
def test_a_quick_study_is_carried_out_whole(study: Study, tlslab: Tlslab, tmp_path: Path) -> None:
    child = tlslab.start("run", study.name, "--quick", "--out", "r", *study.flags)
    ended = tlslab.finish(child, SECONDS)
    # Intervals and validity depend on what else the machine does; that there are results does not.
    assert ended.code in (0, 1), ended.err
    assert_whole(tmp_path / "r", study)
