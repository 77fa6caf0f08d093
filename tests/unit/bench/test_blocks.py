"""Two arms of equal cost: the order of their runs, and the meaning of a ratio."""

import random

import pytest

from bench.blocks import Answer, Interval, equal, interleaved, no_more, ratio

WIDE = Interval(1.0, 0.9, 1.1, 10)


def test_each_arm_runs_once_in_each_block_in_an_order_drawn_by_lot() -> None:
    ran: list[str] = []

    def cost(arm: str) -> float:
        ran.append(arm)
        return len(ran)

    found = interleaved(("one", "two"), cost, blocks=20)
    pairs = list(zip(ran[::2], ran[1::2], strict=True))
    assert set(pairs) == {("one", "two"), ("two", "one")}
    assert [sorted(by_block) for by_block in found.values()] == [list(range(20))] * 2
    first = pairs[0][0]
    assert found[first][0] == 1.0


@pytest.mark.parametrize(
    ("value", "low", "high", "answer"),
    [
        (1.02, 1.01, 1.03, Answer.YES),
        (1.04, 0.995, 1.085, Answer.YES),
        (1.05, 1.02, 1.08, Answer.NO),
        (0.95, 0.92, 0.98, Answer.NO),
        (1.05, 0.99, 1.11, Answer.INCONCLUSIVE),
        (1.5, 1.2, 1.9, Answer.INCONCLUSIVE),
    ],
)
def test_two_are_equal_within_three_per_cent_or_a_narrow_interval(
    value: float, low: float, high: float, answer: Answer
) -> None:
    assert equal(Interval(value, low, high, 10), 0.03) is answer


def test_one_may_cost_less_and_not_more() -> None:
    assert no_more(Interval(0.8, 0.78, 0.82, 10), 0.05) is Answer.YES
    assert no_more(Interval(1.04, 1.03, 1.05, 10), 0.05) is Answer.YES
    assert no_more(Interval(1.2, 1.17, 1.23, 10), 0.05) is Answer.NO
    assert no_more(WIDE, 0.05) is Answer.INCONCLUSIVE


def test_noise_that_hides_a_difference_is_no_equality() -> None:
    noise = random.Random(4)
    base = {block: 100 * noise.lognormvariate(0, 0.15) for block in range(10)}
    dear = {block: 108 * noise.lognormvariate(0, 0.15) for block in range(10)}
    assert equal(ratio(dear, base), 0.03) is Answer.INCONCLUSIVE
