"""The verdicts of the engine's own bench."""

import pytest

from bench.agreement import agrees
from bench.intervals import Interval
from bench.scaling import scales


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [(1.02, 1.01, 1.03, True), (1.05, 0.99, 1.11, True), (1.05, 1.02, 1.08, False)],
)
def test_back_ends_agree_within_three_per_cent_or_the_interval(
    value: float, low: float, high: float, verdict: bool
) -> None:
    assert agrees(Interval(value, low, high, 10)) is verdict


def test_a_second_worker_may_cost_less_and_not_more() -> None:
    assert scales(Interval(0.8, 0.7, 0.9, 10))
    assert scales(Interval(1.04, 1.03, 1.05, 10))
    assert not scales(Interval(1.2, 1.1, 1.3, 10))
