"""A run in several sittings: how each ends, on which machines its blocks are, the report."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from factories.folder import written
from factories.run import made_run
from tlslab.domain.errors import UsageError
from tlslab.domain.run import BOOT, RunContents, Sitting
from tlslab.domain.trial import Trial
from tlslab.experiment import load
from tlslab.lab import opening
from tlslab.lab.conductor import SittingLimit, SittingOverError
from tlslab.lab.request import Request
from tlslab.lab.results import summary_of
from tlslab.lab.store import RunFolder

MADE = made_run(quick=True)
CELLS = len(MADE.plan.cells)
HERE: Mapping[str, Any] = {**MADE.environment.machine, BOOT: "here"}


def begun_with(path: Path, trials: int) -> RunFolder:
    """A run that was ended after N trials, on another start of the machine."""
    where = replace(MADE.environment, machine={**MADE.environment.machine, BOOT: "there"})
    written(path, replace(MADE, environment=where, trials=MADE.trials[:trials]))
    return RunFolder.resume(path)


def sitting(number: int, machine: Mapping[str, Any] = HERE) -> Sitting:
    return Sitting(number, "2026-03-15T09:00:00+00:00", "0.1.0", ("tlslab",), machine)


def test_a_block_that_is_not_whole_is_begun_again_on_another_machine(tmp_path: Path) -> None:
    folder = begun_with(tmp_path / "r", CELLS + 2)
    assert len(folder.trials()) == CELLS + 2
    folder.sit_down(sitting(1))
    assert folder.trials() == MADE.trials[:CELLS]
    for trial in MADE.trials[CELLS : 2 * CELLS]:
        folder.append(trial)
    again = RunFolder.open(tmp_path / "r").trials()
    assert [trial.trial for trial in again] == list(range(2 * CELLS))
    assert [trial.sitting for trial in again] == [0] * CELLS + [1] * CELLS


def test_a_block_goes_on_where_the_machine_still_runs(tmp_path: Path) -> None:
    folder = begun_with(tmp_path / "r", CELLS + 2)
    folder.sit_down(sitting(1, {**HERE, BOOT: "there"}))
    assert len(folder.trials()) == CELLS + 2


def test_a_whole_block_stays_with_its_machine(tmp_path: Path) -> None:
    folder = begun_with(tmp_path / "r", CELLS)
    folder.sit_down(sitting(1))
    assert folder.trials() == MADE.trials[:CELLS]


def trials_until(limit: SittingLimit, trials: tuple[Trial, ...]) -> int:
    for number, trial in enumerate(trials, start=1):
        try:
            limit.ended(trial)
        except SittingOverError:
            return number
    return len(trials) + 1


@pytest.mark.parametrize(
    ("seconds", "made"),
    [
        (3.5, 3),
        # A trial is made in any case, and a block that began first is gone on with.
        (0.1, 1),
        (CELLS - 1, CELLS - 1),
        # After a whole block, no other is begun that would not end in time.
        (CELLS + 1, CELLS),
        (2 * CELLS, 2 * CELLS),
        (None, len(MADE.trials) + 1),
    ],
)
def test_no_trial_is_begun_that_would_end_after_the_sitting(
    seconds: float | None, made: int
) -> None:
    sizes = Counter(trial.block for trial in MADE.trials)
    clock = count()
    assert trials_until(SittingLimit(seconds, sizes, lambda: next(clock)), MADE.trials) == made


def test_loads_that_follow_from_what_was_measured_stay_on_one_kind_of_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = replace(MADE, plan=replace(MADE.plan, trials=()), trials=())
    folder = RunFolder.resume(written(tmp_path / "r", bare))
    request = Request(load("groups"), ("nginx",), ("tlslab",))
    monkeypatch.setattr(opening, "machine", lambda: {**HERE, "processor": "another"})
    with pytest.raises(UsageError, match="was begun on"):
        opening.sitting(folder, request)
    monkeypatch.setattr(opening, "machine", lambda: HERE)
    assert opening.sitting(folder, request).number == 1


def in_two_sittings() -> RunContents:
    """The run of ten blocks, the second half on another machine."""
    made = made_run()
    half = made.plan.blocks // 2
    where = replace(made.environment, later=(sitting(1),))
    trials = (replace(trial, sitting=int(trial.block >= half)) for trial in made.trials)
    return replace(made, environment=where, trials=tuple(trials))


def test_the_report_says_whether_the_machines_agree() -> None:
    found = {each.code: each for each in summary_of(in_two_sittings()).findings}["machines"]
    assert (found.values["sittings"], found.values["machines"], found.values["kinds"]) == (2, 2, 1)
    assert found.values["compared"] > 0
    # Equal machines: some 5 % of many ratios, which are not independent.
    assert found.values["disagree"] <= 0.25 * found.values["compared"]
    assert "2 sittings on 2 starts" in found.text
    assert "machines" not in {each.code for each in summary_of(made_run()).findings}
