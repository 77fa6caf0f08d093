"""Runs studies with --quick on real servers, like a user, and checks that they are whole.

`groups`, `servers` and `concurrency` have their full length here. The studies of README are made by
its test, shortened, and judged there. With TLSLAB_FULL_STUDIES=1 these studies run here, too, in
full.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from live.harness import Tlslab
from live.studies import STUDIES, Study, assert_whole

FULL = os.environ.get("TLSLAB_FULL_STUDIES", "") not in ("", "0")

# Time limit of the longest study on a busy machine.
SECONDS = 500

# Its signing nodes must answer within a second, and other tests use their processors.
ALONE = frozenset({"concurrency"})


def _parameter(study: Study) -> Any:
    marks = (pytest.mark.alone,) if study.name in ALONE else ()
    return pytest.param(study, id=study.name, marks=marks)


@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize("study", [_parameter(s) for s in STUDIES if FULL or not s.shown])
def test_a_quick_study_is_carried_out_whole(study: Study, tlslab: Tlslab, tmp_path: Path) -> None:
    child = tlslab.start("run", study.name, "--quick", "--out", "r", *study.flags)
    ended = tlslab.finish(child, SECONDS)
    # Intervals and validity depend on the other work of the machine; the presence of results does
    # not.
    assert ended.code in (0, 1), ended.err
    assert_whole(tmp_path / "r", study)
