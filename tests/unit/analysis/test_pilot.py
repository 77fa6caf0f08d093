"""The pilot: the noise of a start, and the number of blocks that it predicts."""

import math
from dataclasses import replace
from statistics import median
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from tlslab.analysis.components import Component, Components, components
from tlslab.analysis.pilot import Pilot, _within
from tlslab.analysis.stats import sequence
from tlslab.contract.record import CpuTime, Interval
from tlslab.domain.stopping import SHORTEST, Stopping
from tlslab.domain.trial import Trial
from tlslab.experiment import load

RULE = Stopping(until=0.02, answer="ranking")
WORKLOAD = load("groups").workload
MOST = 40

NOISE = 0.01


def pilot(
    logs: dict[str, list[float]], found: Components, starts: tuple[int, ...] = (0, 0)
) -> Pilot:
    return Pilot(
        workload=WORKLOAD,
        stopping=RULE,
        found=found,
        within=dict.fromkeys(logs, 1e-5),
        between=found.trial.value,
        logs=logs,
        starts=dict(zip(logs, starts, strict=True)),
        mates=[list(logs)],
        overhead_s=0.4,
    )


def known(noise: float, start: float | None = None) -> Components:
    """Components as if they were known exactly."""
    whole = None if start is None else Component(start**2, start**2, start**2)
    return Components(Component(noise**2, noise**2, noise**2), whole)


def apart(by: float) -> dict[str, list[float]]:
    return {"a": [8.0 + by, 8.0 + by], "b": [8.0, 8.0]}


def test_a_start_counts_where_cells_on_other_starts_are_compared() -> None:
    found = known(NOISE / 2, start=0.05)
    one = pilot(apart(0.0), found, (0, 0))
    two = pilot(apart(0.0), found, (0, 1))
    assert one.shares()["a"] > two.shares()["a"] == SHORTEST
    assert one.forecast(2, MOST).blocks < two.forecast(2, MOST).blocks


def test_a_large_difference_is_forecast_to_be_settled_first() -> None:
    blocks = [pilot(apart(by), known(NOISE)).forecast(2, MOST).blocks for by in (0.2, 0.03, 0.01)]
    assert blocks[0] == RULE.at_least
    assert blocks == sorted(blocks)


def test_a_forecast_says_whether_the_planned_blocks_settle_the_run() -> None:
    found = pilot(apart(0.01), known(0.2)).forecast(2, 15)
    assert (found.blocks, found.settles) == (15, False)
    assert pilot(apart(0.2), known(NOISE)).forecast(2, 15).settles


def test_the_time_left_is_that_of_the_cells_that_go_on() -> None:
    logs = apart(0.03)
    two = pilot(logs, known(NOISE)).forecast(2, MOST)
    third = pilot({**logs, "c": [10.0, 10.0]}, known(NOISE), (0, 0, 0)).forecast(2, MOST)
    trial = two.seconds / (2 * (two.blocks - 2))
    # The third cell is settled with the fewest blocks, at lengths that all cells share.
    assert third.seconds - two.seconds * (third.blocks - 2) / (two.blocks - 2) == pytest.approx(
        trial * (RULE.at_least - 2)
    )


def test_only_the_leader_has_to_be_told_apart_for_the_best() -> None:
    logs = {"a": [9.0, 9.0], "b": [8.0, 8.0], "c": [8.01, 8.01]}
    ranking = pilot(logs, known(NOISE), (0, 0, 0))
    best = replace(ranking, stopping=replace(RULE, answer="best"))
    assert best.forecast(2, MOST).blocks == RULE.at_least < ranking.forecast(2, MOST).blocks


def settled(rng: np.random.Generator, by: float, noise: float) -> int:
    """After how many blocks the rule for ending a run settles two cells with this difference."""
    ratios = rng.normal(by, noise * math.sqrt(2), MOST)
    for blocks in range(RULE.at_least, MOST + 1):
        low, high = sequence.mean_interval(ratios[:blocks], 0.05) or (-math.inf, math.inf)
        room = math.log1p(RULE.until)
        if low > 0 or high < 0 or -room <= low <= high <= room:
            return blocks
    return MOST


@pytest.mark.parametrize(("by", "noise"), [(0.0, 0.01), (0.03, 0.015), (0.05, 0.03), (0.2, 0.02)])
def test_the_forecast_is_near_the_blocks_that_runs_take(by: float, noise: float) -> None:
    """With the noise known: the median of 200 runs."""
    rng = np.random.default_rng(11)
    took = median(settled(rng, by, noise) for _ in range(200))
    found = pilot(apart(by), known(noise)).forecast(2, MOST).blocks
    assert took / 1.4 <= found <= took * 1.4


def test_the_forecasts_span_holds_what_known_noise_makes_of_it() -> None:
    """Two blocks of ten cells: the ends of the span hold in 95 of 100 pilots."""
    rng = np.random.default_rng(12)
    names = "abcdefghij"
    true = pilot(apart(0.0), known(0.015)).forecast(2, MOST).blocks
    runs, inside = 300, 0
    for _ in range(runs):
        logs = {name: rng.normal(0, 0.015, 2).tolist() for name in names}
        found = components(logs, dict.fromkeys(names, 0))
        assert found is not None
        forecast = pilot(apart(0.0), found).forecast(2, MOST)
        inside += forecast.low <= true <= forecast.high
    assert inside / runs >= 0.92


@pytest.mark.parametrize("rate", [4, 300])
def test_the_noise_within_a_trial_is_that_of_a_second_also_where_slices_are_joined(
    rate: int,
) -> None:
    rng = np.random.default_rng(5)
    counts = rng.poisson(rate, 6000).tolist()
    slices = [Interval(0.1 * at, 0.1, count, 0, CpuTime(1, 1)) for at, count in enumerate(counts)]
    record = SimpleNamespace(intervals=slices)
    trial = cast(Trial, SimpleNamespace(runs={"capacity": SimpleNamespace(record=record)}))
    # Of Poisson counts: the logarithm of a rate over a second has the variance 1 / rate; with
    # twelve in a slice the logarithm's curvature adds a sixth.
    assert _within(trial) == pytest.approx(1 / (10 * rate), rel=0.2)
