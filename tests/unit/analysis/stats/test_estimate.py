"""Intervals: their methods, their limits, and how often they contain the true value."""

import math

import numpy as np
import pytest

from tlslab.analysis.compare import Measured, compare
from tlslab.analysis.stats.estimate import (
    Spread,
    estimate,
    mean_interval,
    p_value,
    spread_of_ratio,
    two_stage_estimate,
)
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import DIFFERS, CellSummary

BLOCKS = 10
BLOCK_SD = 0.015
SIMULATIONS = 1000


def measured(values: np.ndarray, key: str) -> Measured:
    name = "connections_per_s"
    summary = CellSummary(key, {"group": key}, "valid", (), len(values), {})
    return Measured(summary, {name: dict(enumerate(values.tolist()))})


def verdicts(ratio: float, blocks: int, simulations: int, seed: int) -> list[str]:
    """The verdicts on pairs of systems, of which the second is `ratio` times the first."""
    rng = np.random.default_rng(seed)
    found: list[str] = []
    for _ in range(simulations):
        a, b = 3000 * np.exp(rng.normal(0, BLOCK_SD / math.sqrt(2), (2, blocks)))
        comparison = compare(measured(b * ratio, "b"), measured(a, "a"), "connections_per_s")
        assert comparison is not None
        found.append(comparison.verdict)
    return found


@pytest.mark.simulation
@pytest.mark.parametrize("blocks", [5, 10, 20])
def test_two_equal_systems_differ_in_one_comparison_of_twenty_at_most(blocks: int) -> None:
    found = verdicts(1.0, blocks, SIMULATIONS, seed=blocks)
    false = sum(verdict in DIFFERS for verdict in found)
    assert false / SIMULATIONS <= 0.055


@pytest.mark.simulation
def test_a_slowdown_of_five_percent_is_found_nine_times_of_ten() -> None:
    found = verdicts(0.95, BLOCKS, 200, seed=3)
    assert found.count("slower") >= 0.9 * len(found)
    assert "faster" not in found


@pytest.mark.simulation
def test_the_interval_of_a_mean_covers_it() -> None:
    rng = np.random.default_rng(11)
    missed = 0
    for _ in range(SIMULATIONS):
        found = estimate((100 * np.exp(rng.normal(0, 0.05, BLOCKS))).tolist(), "us")
        assert found.low is not None
        assert found.high is not None
        missed += not found.low <= 100 <= found.high
    assert missed / SIMULATIONS <= 0.055


def test_one_value_has_no_interval() -> None:
    found = estimate([42.0], "us")
    assert found.value == pytest.approx(42)
    assert (found.low, found.high, found.n) == (None, None, 1)
    assert "no interval" in found.method


@pytest.mark.parametrize(
    ("centre", "spread", "same"), [(1e6, 5e-7, True), (0.5, 1.5e-12, False), (1e6, 2e-6, False)]
)
def test_values_that_differ_by_rounding_are_the_same(
    centre: float, spread: float, same: bool
) -> None:
    _, interval, method = mean_interval(np.array([centre, centre + spread, centre]), "values")
    assert interval is not None
    assert (interval[0] == interval[1]) == same
    assert method.startswith("all trials" if same else "Student t")


def test_without_a_scale_the_method_is_of_values() -> None:
    _, interval, method = mean_interval(np.array([1.0, 3.0]))
    assert interval == pytest.approx((2 - 12.7062, 2 + 12.7062), rel=1e-4)
    assert method == "Student t on values, 95 %: too few trials for a bootstrap"


def test_the_p_value_of_one_value_and_of_equal_values() -> None:
    assert p_value(np.array([1.0])) is None
    assert p_value(np.array([0.0, 0.0])) == 1.0
    assert p_value(np.array([0.5, 0.5])) == 0.0


def test_the_error_of_a_ratio_at_its_edges() -> None:
    def of(*values: float, anytime: bool = False) -> Estimate:
        return estimate(values, "1/s", anytime)

    bare, same = of(100.0), of(100.0, 100.0)
    assert spread_of_ratio(bare, same) is None
    assert spread_of_ratio(same, same) == Spread(0.0, None)
    assert (Spread(0.0, None).p_value(0.0), Spread(0.0, None).p_value(0.1)) == (1.0, 0.0)
    assert Spread(0.01, None).p_value(0.0196) == pytest.approx(0.05, abs=1e-4)
    # For a confidence sequence, the error is that of the wider interval, with a normal tail.
    values = (99.0, 100.0, 101.0, 102.0)
    fixed, anytime = of(*values), of(*values, anytime=True)
    plain, sequence = spread_of_ratio(fixed, same), spread_of_ratio(anytime, same)
    assert plain is not None
    assert sequence is not None
    assert plain.degrees == pytest.approx(3)
    assert sequence.degrees is None
    assert sequence.error > plain.error
    # Stein's interval uses the spread of the first stage alone.
    stein = spread_of_ratio(two_stage_estimate(values, "1/s", 2), same)
    assert stein is not None
    assert stein.degrees == pytest.approx(1)


@pytest.mark.parametrize("values", [[0.99, 0.9, 1.0, 0.97, 1.01, 0.9, 1.0], [1.01] * 7])
@pytest.mark.parametrize("first", [5, 7], ids=["two stages", "one stage"])
def test_no_share_is_above_the_whole(values: list[float], first: int) -> None:
    found = two_stage_estimate(values, "share", first)
    assert found.high == 1.0
    assert found.low is not None
    assert found.low <= found.value <= 1.0
    of_a_rate = two_stage_estimate(values, "1/s", first)
    assert of_a_rate.high is not None
    assert of_a_rate.high > 1.0
