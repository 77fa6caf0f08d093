"""Intervals, p-values and their parts, on values whose answers are known."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import scipy

from tlslab.analysis.stats import sequence
from tlslab.analysis.stats.estimate import (
    Interval,
    Spread,
    _bootstrap,
    _possible,
    _student,
    estimate,
    family_interval,
    log_spread,
    mean_interval,
    p_value,
    ratio_of,
    spread_of_ratio,
    two_stage_estimate,
    widened,
)
from tlslab.domain.estimate import Estimate

# Student's quantiles of 97.5 %, for one, two and four degrees of freedom; the normal one.
T1, T2, T4, NORMAL = 12.706205, 4.302653, 2.776445, 1.959964


def around(centre: float, half: float) -> Interval:
    return centre - half, centre + half


def ends(found: Estimate) -> tuple[float | None, float | None]:
    return found.low, found.high


# Value, low, high, unit, the least value; what is possible of them.
POSSIBLE = [
    ((0.5, None, None, "share", 0.1), (0.5, None, None)),
    ((1.2, 1.1, 1.3, "share", 0.5), (1.0, 1.0, 1.0)),
    ((0.9, 0.8, 0.95, "share", 0.5), (0.9, 0.8, 0.95)),
    ((1.2, None, None, "us", 0.0), (1.2, None, None)),
    ((1.2, -0.1, 1.3, "us", 0.0), (1.2, 0.0, 1.3)),
    ((1.2, -0.1, 1.3, "us", 0.5), (1.2, 0.0, 1.3)),
    ((1.2, -0.1, 1.3, "us", -1.0), (1.2, -0.1, 1.3)),
    ((1.2, 0.5, 1.3, "us", 0.5), (1.2, 0.5, 1.3)),
]


@pytest.mark.parametrize(("given", "wanted"), POSSIBLE)
def test_possible_differences_follow_from_value_bounds_and_verdict(
    given: tuple[float, float | None, float | None, str, float],
    wanted: tuple[float, float | None, float | None],
) -> None:
    assert _possible(*given) == wanted


def test_two_values_on_the_scale_of_logarithms() -> None:
    found = estimate([math.e, math.e**3], "us")
    assert ends(found) == pytest.approx([math.exp(end) for end in around(2, T1)], rel=1e-5)
    method = "Student t on log values, 95 %: too few trials for a bootstrap"
    assert (found.n, found.unit, found.method) == (2, "us", method)


def test_values_with_a_zero_are_averaged_as_they_are() -> None:
    found = estimate([0.0, 1.0, 2.0], "us")
    method = "Student t on values, 95 %: too few trials for a bootstrap"
    assert found.value == pytest.approx(1.0)
    assert ends(found) == pytest.approx((0.0, 1 + T2 / math.sqrt(3)), rel=1e-6)
    assert (found.n, found.unit, found.method) == (3, "us", method)
    below = estimate([-1.0, 1.0], "us")
    assert ends(below) == pytest.approx(around(0, T1), rel=1e-5)


def test_the_text_of_no_values() -> None:
    with pytest.raises(ValueError, match=r"^no values to estimate from$"):
        estimate([], "us")


def test_equal_values_have_one_answer_of_any_sign() -> None:
    same = "all trials gave the same value"
    assert estimate([-3.0, -3.0], "us") == Estimate(-3.0, -3.0, -3.0, 2, "us", same)
    assert estimate([1.5, 1.5], "share") == Estimate(1.0, 1.0, 1.0, 2, "share", same)


def test_an_estimate_at_any_time_is_a_confidence_sequence() -> None:
    values = [99.0, 100.0, 101.0, 102.0]
    found = estimate(values, "us", anytime=True)
    interval = sequence.mean_interval(np.log(values), 0.05)
    assert interval is not None
    assert ends(found) == pytest.approx([math.exp(end) for end in interval])
    assert found.method == "confidence sequence (Student t) on log values, 95 % at any time"


def test_steins_interval_by_hand() -> None:
    """The logarithms 1 and 3 of the first stage have a standard deviation of the root of 2."""
    found = two_stage_estimate([math.e, math.e**3, math.e**5], "us", 2)
    half = T1 * math.sqrt(2) / math.sqrt(3)
    assert found.value == pytest.approx(math.exp(3))
    assert ends(found) == pytest.approx([math.exp(end) for end in around(3, half)], rel=1e-5)
    method = "Student t on log values, 95 %, by the spread of the first 2 (Stein 1945)"
    assert (found.n, found.unit, found.method) == (3, "us", method)


@pytest.mark.parametrize(
    ("values", "first", "stein"),
    [
        ([0.25, 0.04, 0.1], 2, True),
        ([0.25, 0.04, 0.1], 3, False),
        ([0.25, 0.04, 0.1], 1, False),
        ([0.25, 0.04, 0.0], 2, False),
        ([0.25, 0.25, 0.25], 2, False),
    ],
)
def test_steins_interval_takes_two_stages_of_positive_values(
    values: Sequence[float], first: int, stein: bool
) -> None:
    found = two_stage_estimate(values, "us", first)
    assert ("Stein" in found.method) == stein
    assert (found == estimate(values, "us")) == (not stein)


def test_one_value_says_that_it_has_no_interval() -> None:
    assert mean_interval(np.array([5.0]), "values") == (5.0, None, "one trial: no interval")


def test_values_that_differ_by_a_billionth_of_a_thousandth_are_equal() -> None:
    assert mean_interval(np.array([0.0, 1e-12]), "values") == (
        5e-13,
        (5e-13, 5e-13),
        "all trials gave the same value",
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_each_end_is_the_wider_one_of_two(sign: int) -> None:
    """Of skewed values one end is the bootstrap's and one Student's."""
    data = sign * np.array([0.0, 0.1, 0.2, 0.1, 0.3, 0.2, 0.1, 2.0, 0.15])
    student, bootstrap = _student(data), _bootstrap(tuple(data.tolist()))
    assert (student[0] < bootstrap[0]) == (sign == 1)
    assert (student[1] < bootstrap[1]) == (sign == 1)
    centre, interval, method = mean_interval(data, "values")
    assert centre == pytest.approx(data.mean())
    assert interval == ((student[0], bootstrap[1]) if sign == 1 else (bootstrap[0], student[1]))
    assert method == (
        "wider of BCa bootstrap (level raised for n = 9) and Student t on values, 95 %"
    )


def test_students_interval_by_hand() -> None:
    assert _student(np.array([1.0, 3.0])) == pytest.approx(around(2, T1), rel=1e-6)
    assert _student(np.array([1.0, 2.0, 3.0])) == pytest.approx(
        around(2, T2 / math.sqrt(3)), rel=1e-6
    )


def test_the_interval_of_a_family_by_hand() -> None:
    data = np.array([1.0, 3.0])
    for level, t in ((0.05, T1), (0.1, 6.313752)):
        interval, method = family_interval(data, level)
        assert interval == pytest.approx(around(2, t), rel=1e-6)
        assert method == "Student t on log ratios"
    assert family_interval(data[:1], 0.05) == (None, "one trial: no interval")
    three = np.array([1.0, 2.0, 3.0])
    interval, _ = family_interval(three, 0.05)
    assert interval == pytest.approx(around(2, T2 / math.sqrt(3)), rel=1e-6)
    assert family_interval(three, 0.02, anytime=True) == (
        sequence.mean_interval(three, 0.02),
        "confidence sequence (Student t) on log ratios",
    )


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("shift", [-0.5, 0.0, 0.5])
def test_the_p_value_is_students(n: int, shift: float) -> None:
    data = np.random.default_rng(n).normal(shift, 1.0, n)
    assert p_value(data) == pytest.approx(scipy.stats.ttest_1samp(data, 0).pvalue)
    assert p_value(data, anytime=True) == sequence.p_value(data)


def test_the_p_value_of_a_spread_that_is_rounding() -> None:
    """Two values whose standard deviation is 1e-12 to the last bit, and the next larger one."""
    last = math.sqrt(2) * 1e-12
    for _ in range(20):
        last = math.nextafter(last, 0)
    while np.array([0.0, last]).std(ddof=1) < 1e-12:
        last = math.nextafter(last, 1)
    assert np.array([0.0, last]).std(ddof=1) == 1e-12
    assert p_value(np.array([0.0, last])) == 0.0
    assert p_value(np.array([0.0, 1.001 * last])) == pytest.approx(0.5)
    # Relative to the mean from 1 on.
    assert p_value(np.array([1e6, 1e6 + 1e-6])) == 0.0
    assert p_value(np.array([0.5, 0.5 + 2.1e-12])) != 0.0


def test_a_spreads_quantile_and_tail_by_hand() -> None:
    assert Spread(3.0, 4).quantile(0.975) == pytest.approx(T4, rel=1e-6)
    assert Spread(3.0, None).quantile(0.975) == pytest.approx(NORMAL, rel=1e-6)
    for degrees, quantile in ((4, T4), (None, NORMAL)):
        spread = Spread(3.0, degrees)
        assert spread.beyond(3 * quantile) == pytest.approx(0.025, rel=1e-5)
        assert spread.beyond(-3 * quantile) == pytest.approx(0.975, rel=1e-5)
        assert spread.p_value(-3 * quantile) == pytest.approx(0.05, rel=1e-5)
        assert spread.p_value(0.0) == 1.0
    assert [Spread(0.0, 4).beyond(x) for x in (-1.0, 0.0, 0.5)] == [1.0, 1.0, 0.0]


def test_an_interval_is_widened_by_the_quantiles() -> None:
    """Of 1 % instead of 5 %: Student's 4.604095 of four degrees, the normal 2.575829."""
    found = Estimate(10.0, 8.0, 13.0, 5, "us", "Student t")
    for anytime, more in ((False, 4.604095 / T4), (True, 2.575829 / NORMAL)):
        wide = widened(replace(found, anytime=anytime), 0.01)
        assert ends(wide) == pytest.approx((10 - 2 * more, 10 + 3 * more), rel=1e-6)
        assert (wide.value, wide.n, wide.unit, wide.anytime) == (10.0, 5, "us", anytime)
    for bare in (replace(found, low=None), replace(found, high=None)):
        assert widened(bare, 0.01) == bare


@pytest.mark.parametrize("low_high", [(90.0, 105.0), (95.0, 110.0)])
def test_the_spread_is_of_the_wider_half(low_high: tuple[float, float]) -> None:
    """Of an exact number it adds nothing; five values have four degrees of freedom."""
    found = Estimate(100.0, *low_high, 5, "1/s", "Student t")
    exact = Estimate(50.0, 50.0, 50.0, 2, "1/s", "Student t")
    half = max(math.log(low_high[1] / 100), math.log(100 / low_high[0]))
    ratios = spread_of_ratio(found, exact), spread_of_ratio(exact, found)
    for spread in (log_spread(found), *ratios):
        assert spread is not None
        assert spread.error == pytest.approx(half / T4, rel=1e-6)
        assert spread.degrees == pytest.approx(4)


def test_errors_add_up_by_their_squares() -> None:
    """Errors of 0.03 and 0.04, of 4 and 2 degrees of freedom, or of infinitely many."""
    first = Estimate(2.0, 2 * math.exp(-0.03 * T4), 2 * math.exp(0.03 * T4), 5, "", "Student t")
    other = Estimate(0.5, 0.5 * math.exp(-0.04 * T2), 0.5 * math.exp(0.04 * T2), 3, "", "")
    spread = spread_of_ratio(first, other)
    assert spread is not None
    assert spread.error == pytest.approx(0.05, rel=1e-6)
    assert spread.degrees == pytest.approx(0.05**4 / (0.03**4 / 4 + 0.04**4 / 2), rel=1e-5)
    half = 0.04 * NORMAL
    endless = Estimate(0.5, 0.5 * math.exp(-half), 0.5 * math.exp(half), 3, "", "", anytime=True)
    spread = spread_of_ratio(first, endless)
    assert spread is not None
    assert spread.error == pytest.approx(0.05, rel=1e-6)
    assert spread.degrees == pytest.approx(0.05**4 / (0.03**4 / 4), rel=1e-5)


@pytest.mark.parametrize(
    "without",
    [
        Estimate(2.0, 1.0, 3.0, 1, "", ""),
        Estimate(2.0, None, 3.0, 5, "", ""),
        Estimate(2.0, 1.0, None, 5, "", ""),
        Estimate(2.0, 0.0, 3.0, 5, "", ""),
        Estimate(0.0, 0.0, 3.0, 5, "", ""),
    ],
)
def test_a_spread_takes_an_interval_of_positive_numbers(without: Estimate) -> None:
    found = Estimate(0.5, 0.4, 0.6, 2, "", "")
    assert spread_of_ratio(found, found) is not None
    assert spread_of_ratio(found, without) is None
    assert spread_of_ratio(without, found) is None


def test_a_ratios_interval_by_hand() -> None:
    """Zou and Donner on logarithms: the distances are those of a right triangle."""
    above = Estimate(0.2, 0.2 * math.exp(-0.03), 0.2 * math.exp(0.06), 7, "1/s", "")
    below = Estimate(0.1, 0.1 * math.exp(-0.08), 0.1 * math.exp(0.04), 5, "1/s", "")
    found = ratio_of(above, below, "ratio", "MOVER")
    assert found.value == pytest.approx(2)
    assert ends(found) == pytest.approx((2 * math.exp(-0.05), 2 * math.exp(0.1)))
    assert (found.n, found.unit, found.method) == (5, "ratio", "MOVER")


@pytest.mark.parametrize("end", ["low", "high"])
@pytest.mark.parametrize("value", [None, 0.0])
def test_a_ratio_without_one_of_the_ends_has_no_interval(end: str, value: float | None) -> None:
    whole = Estimate(0.2, 0.1, 0.3, 5, "1/s", "")
    without = replace(whole, low=value) if end == "low" else replace(whole, high=value)
    wanted = Estimate(1.0, None, None, 5, "ratio", "no interval: a side has none")
    assert ratio_of(whole, without, "ratio", "MOVER") == wanted
    assert ratio_of(without, whole, "ratio", "MOVER") == wanted
