"""Confidence sequences: intervals that hold for every number of values at once."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy

from tlslab.analysis.stats import sequence
from tlslab.analysis.stats.estimate import Array, estimate, mean_interval, p_value

GOLDEN = Path(__file__).parents[3] / "golden" / "normal-mixture.json"

SERIES = 1_000
LAST = 25

Noise = Callable[[np.random.Generator], Array]


def normal(draw: np.random.Generator) -> Array:
    return draw.normal(0, 1, LAST)


def heavy_tailed(draw: np.random.Generator) -> Array:
    return draw.standard_t(3, LAST)


def ever_missed(noise: Noise, first: int, of: Callable[[Array], tuple[float, float] | None]) -> int:
    """The number of series in which an interval misses the mean, 0, for at least one length."""
    draw = np.random.default_rng(20)
    missed = 0
    for _ in range(SERIES):
        data = noise(draw)
        found = (of(data[:n]) for n in range(first, LAST + 1))
        missed += any(each is not None and not each[0] <= 0 <= each[1] for each in found)
    return missed


@pytest.mark.simulation
@pytest.mark.parametrize("noise", [normal, heavy_tailed])
def test_the_mean_is_within_at_all_looks_at_once(noise: Noise) -> None:
    missed = ever_missed(noise, 2, lambda data: sequence.mean_interval(data, 0.05))
    assert missed <= 0.05 * SERIES


@pytest.mark.simulation
def test_students_interval_is_not_made_for_that() -> None:
    def student(data: Array) -> tuple[float, float]:
        quantile = scipy.special.stdtrit(len(data) - 1, 0.975)
        half = quantile * data.std(ddof=1) / math.sqrt(len(data))
        return data.mean() - half, data.mean() + half

    assert ever_missed(normal, 2, student) > 0.15 * SERIES


def test_the_interval_ends_where_the_evidence_does() -> None:
    data = np.random.default_rng(3).normal(0.2, 1, 9)
    found = sequence.mean_interval(data, 0.05)
    assert found is not None
    for end in found:
        assert sequence.evidence(data - end) == pytest.approx(20, rel=1e-6)
    assert sequence.p_value(data - found[0]) == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize("golden", json.loads(GOLDEN.read_text("utf-8")), ids=str)
def test_it_becomes_confseqs_normal_mixture_where_the_variance_is_known(
    monkeypatch: pytest.MonkeyPatch, golden: dict[str, float]
) -> None:
    """With this many values the variance is known.

    The golden values are those of confseq 0.0.11, normal_mixture_bound.
    """
    n, alpha = int(golden["v"]), golden["alpha"]
    # confseq's parameter is the time at which its boundary is narrowest: its rho is our 1 / g.
    spent = 2 * math.log(1 / golden["alpha_opt"])
    rho = golden["v_opt"] / (spent + math.log(1 + spent))
    monkeypatch.setattr(sequence, "EFFECTS", (1 / rho,))
    # The cache contains values of the earlier effects.
    monkeypatch.setattr(sequence, "_unit_half_width", sequence._unit_half_width.__wrapped__)
    data = np.random.default_rng(4).normal(0, 1, n)
    data = (data - data.mean()) / data.std(ddof=1)
    found = sequence.mean_interval(data, alpha)
    assert found is not None
    assert found[1] == pytest.approx(golden["bound"] / n, rel=5e-3)


@pytest.mark.parametrize("values", [[1.0], [1.0, 1.1]])
def test_few_values_have_no_interval(values: list[float]) -> None:
    data = np.array(values)
    found = sequence.mean_interval(data, 1e-4)
    assert found is None
    assert len(data) > 1 or sequence.p_value(data) is None


def test_equal_values_are_certain() -> None:
    data = np.full(4, 0.3)
    assert sequence.mean_interval(data, 0.05) == (0.3, 0.3)
    assert sequence.p_value(data) == 0.0
    assert sequence.p_value(np.zeros(4)) == 1.0


def test_it_is_wider_than_an_interval_for_one_look_and_says_what_it_is() -> None:
    values = [100.0, 103.0, 99.0, 101.0, 102.0]
    once, always = estimate(values, "1/s"), estimate(values, "1/s", anytime=True)
    assert once.value == always.value
    assert once.low is not None
    assert always.low is not None
    assert always.low < once.low
    assert "confidence sequence" in always.method
    logs = np.log(values) - math.log(90)
    one_look, any_look = p_value(logs), p_value(logs, anytime=True)
    assert one_look is not None
    assert any_look is not None
    assert one_look < any_look <= 0.05
    assert mean_interval(logs[:1], "log ratios", anytime=True)[1] is None
