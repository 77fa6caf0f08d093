"""Scales: for any numbers their ticks are round, few, in order and within the axis."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlslab.report.svg.scales import Scale, lying, scale
from tlslab.report.svg.text import tick_text, value_text

numbers = st.lists(
    st.floats(-1e120, 1e120).filter(lambda x: x == 0 or abs(x) > 1e-120), min_size=1, max_size=20
)
positive = st.lists(st.floats(1e-120, 1e120), min_size=1, max_size=20)


def sound(found: Scale, known: list[float]) -> None:
    assert list(found.ticks) == sorted(set(found.ticks))
    for value in [*found.ticks, *known]:
        if found.holds(value):
            place = found(value)
            assert math.isfinite(place)
            assert min(found.start, found.end) <= place <= max(found.start, found.end)


@given(numbers, st.booleans(), st.booleans(), st.integers(2, 9))
def test_a_linear_scale_holds_all_numbers(
    known: list[float], zero: bool, tight: bool, count: int
) -> None:
    found = scale(known, 0, 300, False, count, zero, tight)
    sound(found, known)
    assert len(found.ticks) <= count + 3
    known = [*known, 0.0] if zero else known
    span = max(known) - min(known)
    assert found.low <= min(known) + 1e-5 * span
    assert found.high >= max(known) - 1e-5 * span


@given(positive, st.booleans(), st.integers(2, 9))
def test_a_logarithmic_scale_holds_all_numbers_above_zero(
    known: list[float], tight: bool, count: int
) -> None:
    found = scale(known, 0, 300, True, count, tight=tight)
    sound(found, [*known, 0.0, -1.0])
    assert len(found.ticks) <= max(count + 3, 9)


@given(numbers, st.booleans(), st.integers(60, 1000))
def test_a_lying_scale_is_sound_at_any_width(known: list[float], log: bool, width: int) -> None:
    sound(lying(known, 0, width, log), known)


@pytest.mark.parametrize(
    ("known", "count", "ticks"),
    [
        ([1.0, 2.0, 4.0, 8.0, 64.0], 6, (1.0, 2.0, 4.0, 8.0, 64.0)),
        ([1.2, 950.0], 9, (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)),
        ([1.2, 950.0], 4, (10.0, 100.0)),
        ([1.5, 8.0], 7, (2.0, 3.0, 4.0, 5.0, 7.0)),
        ([1.1e-3, 0.9e9], 4, (1.0, 1e3, 1e6)),
        ([101.5, 140.0], 4, (110.0, 120.0, 130.0, 140.0)),
    ],
)
def test_ticks_of_a_logarithmic_axis(
    known: list[float], count: int, ticks: tuple[float, ...]
) -> None:
    assert scale(known, 0, 300, True, count, tight=True, own=True).ticks == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("known", "ticks"),
    [
        ([0.0, 100.0], (0, 20, 40, 60, 80, 100)),
        ([0.0, 4200.0], (0, 1000, 2000, 3000, 4000)),
        ([-0.3, 0.2], (-0.3, -0.2, -0.1, 0, 0.1, 0.2)),
        ([5.0], (4.4, 4.6, 4.8, 5.0, 5.2, 5.4, 5.6)),
    ],
)
def test_ticks_of_a_linear_axis(known: list[float], ticks: tuple[float, ...]) -> None:
    assert scale(known, 0, 300, False, 5).ticks == pytest.approx(ticks)


def test_without_numbers_there_are_no_ticks() -> None:
    assert scale([], 0, 300, False, 5).ticks == ()
    assert scale([-1.0, 0.0], 0, 300, True, 5).ticks == ()


def test_an_axis_of_values_from_zero_on_never_goes_below_zero() -> None:
    assert scale([0.0, 3.0], 300, 0, False, 5, zero=True).low == 0


@pytest.mark.parametrize(
    ("value", "step", "text"),
    [
        (0.0, 0.5, "0.0"), (1500.0, 500.0, "1,500"), (0.25, 0.05, "0.25"), (2e6, 5e5, "2 M"),
        (2.5e6, 5e5, "2.5 M"), (1e9, 1e9, "1 G"), (1e-5, 1e-5, "10⁻⁵"), (2e-5, 1e-5, "2·10⁻⁵"),
        (1e18, 1e18, "10¹⁸"), (-0.4, 0.2, "-0.4"),
    ],
)  # fmt: skip
def test_ticks_have_the_digits_they_need(value: float, step: float, text: str) -> None:
    assert tick_text(value, step) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (3412.4, "3,412"), (0.0341, "0.034"), (5.2e6, "5.2 M"), (3.14e-5, "3.14·10⁻⁵")],
)
def test_values_have_three_digits(value: float, text: str) -> None:
    assert value_text(value) == text


def test_near_ticks_of_a_logarithmic_axis_are_told_apart() -> None:
    found = scale([1.2, 2.1], 0, 300, True, 6)
    labels = [found.text(tick) for tick in found.ticks]
    assert len(set(labels)) == len(labels) > 2
