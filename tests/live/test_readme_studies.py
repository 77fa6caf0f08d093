"""Runs the commands of README from its studies on as written (live.documents), and judges these.

The questions before have a file of their own, so that another worker runs them at the same time.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from live.documents import LIMIT_S, carry_out, parts_of_readme
from live.studies import STUDIES, assert_whole, made_by


@pytest.mark.capability("README: studies, and what else tlslab does")
@pytest.mark.timeout(LIMIT_S + 60)
def test_every_study_works_as_it_stands(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    _, rest = parts_of_readme()
    took = carry_out(rest, tmp_path, forked=True, timed=True)[1:]
    assert judged(tmp_path / "runs") == {study.name for study in STUDIES if study.shown}
    record_property("commands", took)


def judged(runs: Path) -> set[str]:
    """The studies that were made exactly as shown; each is whole."""
    names = set()
    for study in (each for each in STUDIES if each.shown):
        for folder in made_by(runs, study.shown):
            assert_whole(folder, study)
            names.add(study.name)
    return names
