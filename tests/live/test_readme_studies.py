"""Runs the studies of README as written (live.documents), and judges their run folders."""

from collections.abc import Callable
from pathlib import Path

import pytest

from live.documents import LIMIT_S, carry_out, parts_of_readme
from live.studies import STUDIES, assert_whole, made_by


@pytest.mark.capability("README: studies")
@pytest.mark.timeout(LIMIT_S + 60)
def test_every_study_works_as_it_stands(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    studies, _ = parts_of_readme()
    took = carry_out(studies, tmp_path, forked=True, timed=True)
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
