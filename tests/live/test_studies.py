"""Runs studies with --quick on real servers, like a user, and checks that they are whole.

The studies of README are made by its test, shortened, and judged there; `concurrency` is made and
judged by the test of benchmarks, `groups` by that of recommended configurations. With
TLSLAB_FULL_STUDIES=1 these studies run here, too, in full.
"""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from live.harness import Tlslab
from live.studies import SECONDS, STUDIES, Study, assert_whole

FULL = os.environ.get("TLSLAB_FULL_STUDIES", "") not in ("", "0")

# Its signing nodes must answer within a second, and other tests use their processors.
ALONE = frozenset({"concurrency"})


MADE_HERE = [each for each in STUDIES if FULL or not (each.shown or each.judged_in)]


def _parameter(study: Study) -> Any:
    marks = (pytest.mark.alone,) if study.name in ALONE else ()
    return pytest.param(study, id=study.name, marks=marks)


@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize("study", [_parameter(s) for s in MADE_HERE])
def test_a_quick_study_is_carried_out_whole(study: Study, tlslab: Tlslab, tmp_path: Path) -> None:
    child = tlslab.start("run", study.name, "--quick", "--out", "r", *study.flags)
    ended = tlslab.finish(child, SECONDS)
    # Intervals and validity depend on the other work of the machine; the presence of results does
    # not.
    assert ended.code in (0, 1), ended.err
    assert_whole(tmp_path / "r", study)


@pytest.mark.parametrize("study", [s for s in STUDIES if s.judged_in], ids=lambda s: s.name)
def test_a_study_that_another_test_makes_is_judged_by_it(study: Study) -> None:
    made = Path(__file__).with_name(study.judged_in).read_text("utf-8")
    assert f'"run", "{study.name}", "--quick"' in made
    assert re.search(rf'assert_whole\(.+, study_named\("{study.name}"\)\)', made)
