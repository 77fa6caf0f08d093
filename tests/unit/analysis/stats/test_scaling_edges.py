"""The parts of the law's fit by themselves, and values that lie exactly on a limit."""

import math

import numpy as np
import pytest

from tlslab.analysis.stats.estimate import Array
from tlslab.analysis.stats.scaling import _first_guess, _peak_at, find_knee, fit_law, law_value

LEVELS = (1, 2, 4, 8, 16, 32)

SCALING = "tlslab.analysis.stats.scaling"

EQUAL = [{1: 100.0, 2: 100.0}] * 3
FASTER = [{1: 100.0, 2: 110.0}] * 3


def guessed(n: Array, each: Array) -> tuple[float, float]:
    """The first guess for N threads with `each` operations per second and thread."""
    return _first_guess(each, n - 1, n * (n - 1))


@pytest.mark.parametrize("one", [0.01, 1.0, 300.0])
def test_the_first_guess_of_values_without_noise_is_the_law(one: float) -> None:
    n = np.array(LEVELS, float)
    each = one / (1 + 0.1 * (n - 1) + 0.003 * n * (n - 1))
    assert guessed(n, each) == pytest.approx((0.1, 0.003), rel=1e-6)


def test_the_first_guess_is_within_the_bounds() -> None:
    """The iteration may not begin on a bound; linear throughput has neither s nor k."""
    n = np.array(LEVELS, float)
    assert guessed(n, np.full(len(n), 50.0)) == (1e-6, 1e-9)


def test_without_a_throughput_of_one_the_first_guess_is_constant() -> None:
    """N / X grows with the cube of N: the straight fit puts it below 0 at one thread."""
    n = np.array([2.0, 4, 8, 16])
    assert guessed(n, n**-3) == (0.5, 0.01)
    law = fit_law([{2: 2**-2, 4: 4**-2, 8: 8**-2, 16: 16**-2}] * 5)
    assert law is not None
    assert law.peak_at is not None
    assert law.peak_at.value == 1.0


@pytest.mark.parametrize(
    ("contention", "coherency", "at"),
    [
        (0.5, 0.005, 10.0),
        (0.5, 1e-12, math.inf),
        (0.5, 2e-12, 5e5),
        # More contention than one thread's: throughput falls from the start.
        (1.5, 0.01, 1.0),
        (0.5, 0.8, 1.0),
        (0.5, 0.25, math.sqrt(2)),
    ],
)
def test_the_peak_by_hand(contention: float, coherency: float, at: float) -> None:
    assert _peak_at(np.array([100.0, contention, coherency])) == pytest.approx(at)


def test_a_peak_exactly_as_far_as_anything_is_said_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blocks = [{n: law_value((500.0, 0.5, 0.005), n) for n in LEVELS}] * 5
    law = fit_law(blocks)
    assert law is not None
    assert law.peak_at is not None
    monkeypatch.setattr(f"{SCALING}.REACH", law.peak_at.value / LEVELS[-1])
    same = fit_law(blocks)
    assert same is not None
    assert same.peak_at is not None
    assert same.peak_at.value == law.peak_at.value
    monkeypatch.setattr(f"{SCALING}.REACH", law.peak_at.value / LEVELS[-1] * 0.999)
    beyond = fit_law(blocks)
    assert beyond is not None
    assert beyond.peak_at is None


@pytest.mark.parametrize(
    ("confidence", "blocks", "at"),
    [
        # p is 0 without any spread: as low as an error that may never happen.
        (1.0, FASTER, 2),
        # p is 1: equal throughput is not faster, whatever error is allowed.
        (0.0, EQUAL, 1),
        (0.0, FASTER, 2),
    ],
)
def test_the_error_of_the_knee_at_its_ends(
    monkeypatch: pytest.MonkeyPatch, confidence: float, blocks: list[dict[int, float]], at: int
) -> None:
    monkeypatch.setattr(f"{SCALING}.CONFIDENCE", confidence)
    knee = find_knee(blocks)
    assert knee is not None
    assert knee.at.value == at


def test_a_gain_of_exactly_the_least_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{SCALING}.LEAST_GAIN", 0.0)
    knee = find_knee(EQUAL)
    assert knee is not None
    assert (knee.at.value, knee.at.high) == (1, 1)


def test_exactly_nine_tenths_of_its_share_are_linear() -> None:
    knee = find_knee([{9: 100.0, 10: 100.0}] * 3)
    assert knee is not None
    assert knee.linear_to == 10
