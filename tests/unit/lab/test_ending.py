"""The end of a run in blocks, by its comparisons or by time; and the length of its trials."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from factories.run import World, made_run
from tlslab.analysis.pilot import pilot
from tlslab.domain.experiment import Experiment
from tlslab.domain.run import RunContents
from tlslab.domain.stopping import SHORTEST, Stopping
from tlslab.domain.trial import Trial
from tlslab.experiment import load, with_levels
from tlslab.lab.matrix.agenda import SettledOrOver

RULE = Stopping(until=0.02, at_least=4)


class Clock:
    """A clock that a test sets, in seconds."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def experiment() -> Experiment:
    few = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", "P-256")}
    return replace(with_levels(load("groups"), few), stopping=RULE)


@pytest.fixture(name="whole")
def _whole() -> RunContents:
    """Two cells that no number of blocks settles to 2 %."""
    return made_run(
        World(server_us={"X25519": 250.0, "P-256": 250.0}, noise=0.05), experiment=experiment()
    )


def ending(whole: RunContents, rule: Stopping, clock: Clock) -> SettledOrOver:
    def contents(trials: Sequence[Trial]) -> RunContents:
        return replace(whole, trials=tuple(trials))

    return SettledOrOver(rule, whole.plan, contents, clock)


def before(whole: RunContents, block: int) -> list[Trial]:
    return [trial for trial in whole.trials if trial.block < block]


def test_no_block_begins_that_would_end_after_the_budget(whole: RunContents) -> None:
    clock = Clock()
    found = ending(whole, replace(RULE, budget_s=100), clock)
    seen = []
    for block in range(12):
        # A block takes 15 s here: six have ended after 90 s, and a seventh would end after 100 s.
        seen.append(len(found.cells(before(whole, block), block)))
        clock.now += 15
    assert seen == [2] * 6 + [0] * 6
    assert found.reason(6) == "the time is over after 6 blocks"


def test_the_first_blocks_are_made_however_short_the_budget(whole: RunContents) -> None:
    clock = Clock()
    found = ending(whole, replace(RULE, budget_s=1), clock)
    for block in range(RULE.at_least):
        assert len(found.cells(before(whole, block), block)) == 2
        clock.now += 15
    assert not found.cells(before(whole, RULE.at_least), RULE.at_least)


def test_a_resumed_run_has_its_own_time(whole: RunContents) -> None:
    clock = Clock()
    found = ending(whole, replace(RULE, budget_s=100), clock)
    assert len(found.cells(before(whole, 8), 8)) == 2
    clock.now += 15
    assert len(found.cells(before(whole, 9), 9)) == 2


def test_settled_cells_have_no_further_block() -> None:
    apart = made_run(
        World(server_us={"X25519": 250.0, "P-256": 900.0}, noise=0.01), experiment=experiment()
    )
    found = ending(apart, RULE, Clock())
    assert [len(found.cells(before(apart, block), block)) for block in range(6)] == [2] * 4 + [0, 0]
    assert found.reason(4) == "settled after 4 blocks"


def test_trials_are_short_in_the_pilot_and_then_as_long_as_it_showed(whole: RunContents) -> None:
    found = ending(whole, RULE, Clock())
    first = [planned for planned in whole.plan.trials if planned.block == 0]
    later = [planned for planned in whole.plan.trials if planned.block == RULE.pilot]
    assert {found.length([], planned) for planned in first} == {SHORTEST}
    for planned in later:
        assert found.length(before(whole, RULE.pilot), planned) < 1.0
    full = ending(whole, replace(RULE, pilot=0), Clock())
    assert {full.length([], planned) for planned in first} == {1.0}


def unsteady(trial: Trial) -> Trial:
    """The trial with slices that differ by a factor of two."""
    run = trial.runs["capacity"]
    slices = tuple(
        replace(each, completed=round(each.completed * (2 if number % 2 else 1)))
        for number, each in enumerate(run.record.intervals)
    )
    record = replace(run.record, intervals=slices)
    return replace(trial, runs={**trial.runs, "capacity": replace(run, record=record)})


def shares(whole: RunContents, trials: list[Trial]) -> Mapping[str, float]:
    experiment = whole.experiment
    found = pilot(trials, RULE, experiment.workload, whole.plan, experiment.baseline)
    return {} if found is None else found.shares()


def test_longer_trials_are_for_noise_within_them(whole: RunContents) -> None:
    calm = shares(whole, before(whole, 2))
    rough = shares(whole, [unsteady(trial) for trial in before(whole, 2)])
    assert calm.keys() == rough.keys() == {cell.key for cell in whole.plan.cells}
    assert all(rough[key] == 1.0 for key in rough)
    assert all(SHORTEST <= calm[key] < 0.6 for key in calm)
    assert shares(whole, []) == {}


def test_a_forecast_is_made_once_after_the_pilot(whole: RunContents) -> None:
    found = ending(whole, RULE, Clock())
    said = [found.forecast(before(whole, block), block) for block in range(5)]
    assert [forecast is not None for forecast in said] == [False, False, True, False, False]
    forecast = said[RULE.pilot]
    assert forecast is not None
    assert forecast.low <= forecast.blocks <= forecast.high <= whole.plan.blocks
    assert forecast.seconds > 0
    without = ending(whole, replace(RULE, pilot=0), Clock())
    assert without.forecast(before(whole, 3), 3) is None
