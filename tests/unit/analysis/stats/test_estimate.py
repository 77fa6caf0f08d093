"""Intervals: their methods, their limits, and how often they contain the true value."""

import math

import numpy as np
import pytest
import scipy

from tlslab.analysis.compare import Measured, compare
from tlslab.analysis.stats.estimate import (
    BOOTSTRAP_MIN_N,
    Spread,
    estimate,
    mean_interval,
    p_value,
    ratio_of,
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


def test_equal_values_have_an_interval_without_width() -> None:
    found = estimate([7.0] * 10, "B")
    assert (found.value, found.low, found.high) == (7.0, 7.0, 7.0)


def test_two_equal_values_are_the_same_value() -> None:
    assert estimate([7.0, 7.0], "B") == Estimate(
        7.0, 7.0, 7.0, 2, "B", "all trials gave the same value"
    )


def test_two_values_have_an_interval() -> None:
    """The logarithms 1 and 3 have a standard error of 1; t with one degree of freedom is 12.706."""
    found = estimate([math.e, math.e**3], "us")
    assert (found.low, found.value, found.high) == pytest.approx(
        (math.exp(2 - 12.7062), math.exp(2), math.exp(2 + 12.7062)), rel=1e-3
    )


def test_values_below_one_are_averaged_on_the_logarithmic_scale_too() -> None:
    assert estimate([0.25, 0.04], "").value == pytest.approx(0.1)


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


def test_few_values_get_student_t_and_say_so() -> None:
    values = [100.0, 102.0, 98.0, 101.0, 99.0]
    found = estimate(values, "us")
    # t(0.975, 4) = 2.7764; the logarithms' standard deviation is 0.015814.
    assert found.high == pytest.approx(
        found.value * math.exp(2.7764 * 0.015814 / math.sqrt(5)), 1e-4
    )
    assert found.method.startswith("Student t on log values")


def test_more_values_get_a_bootstrap_and_the_same_one_each_time() -> None:
    values = [100.0 + i for i in range(BOOTSTRAP_MIN_N)]
    assert "BCa" in estimate(values, "us").method
    assert estimate(values, "us") == estimate(values, "us")


def test_values_that_can_be_nothing_are_averaged_as_they_are() -> None:
    found = estimate([0.0, 1.0, 2.0], "us")
    assert found.value == pytest.approx(1.0)
    assert "on values" in found.method


def test_no_values_are_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        estimate([], "us")


def test_the_p_value_is_that_of_the_interval() -> None:
    draw = np.random.default_rng(2)
    for n in (2, 3, 5, 7):
        data = draw.normal(0.4, 1.0, n)
        _, interval, _ = mean_interval(data, "values")
        p = p_value(data)
        assert interval is not None
        assert p is not None
        # Below 8 values both are Student's t: one excludes 0 exactly when the other is below 5 %.
        assert (p < 0.05) == (not interval[0] <= 0 <= interval[1])
    assert p_value(np.array([1.0])) is None
    assert p_value(np.array([0.0, 0.0])) == 1.0
    assert p_value(np.array([0.5, 0.5])) == 0.0


def test_the_error_of_a_ratio_is_that_of_welch() -> None:
    """The same as scipy's result for the values themselves."""
    draw = np.random.default_rng(4)
    first, second = np.exp(draw.normal(0, 0.02, 5)), np.exp(draw.normal(0.03, 0.06, 4))
    spread = spread_of_ratio(estimate(first.tolist(), "1/s"), estimate(second.tolist(), "1/s"))
    welch = scipy.stats.ttest_ind(np.log(second), np.log(first), equal_var=False)
    assert spread is not None
    assert spread.degrees == pytest.approx(welch.df)
    ratio = np.log(second).mean() - np.log(first).mean()
    assert spread.p_value(ratio) == pytest.approx(welch.pvalue)


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


def test_a_ratio_knows_the_intervals_of_both_sides() -> None:
    above, below = (Estimate(v, v * 0.9, v * 1.1, 5, "1/s", "") for v in (200.0, 100.0))
    found = ratio_of(above, below, "ratio", "a method")
    assert (found.value, found.n, found.unit, found.method) == (2, 5, "ratio", "a method")
    assert found.low is not None
    assert found.high is not None
    assert 200 * 0.9 / (100 * 1.1) < found.low < 1.8
    assert 200 * 1.1 / (100 * 0.9) > found.high > 2.2
    exact = Estimate(200.0, 200.0, 200.0, 5, "1/s", "")
    alone = ratio_of(exact, below, "ratio", "a method")
    assert alone.low == pytest.approx(200 / 110)
    assert alone.high == pytest.approx(200 / 90)
    bare = Estimate(100.0, None, None, 1, "1/s", "one trial")
    for one, other in ((above, bare), (bare, below)):
        assert ratio_of(one, other, "ratio", "a method").low is None


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
