"""Two arms that should have equal costs, measured in turns and judged."""

import random
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeVar

from bench.intervals import Interval
from bench.settings import BLOCKS, SEED

# The largest half width of a ratio's interval: a wider interval contains 1 in any case.
HALF_WIDTH = 0.05

Arm = TypeVar("Arm", int, str)


class Answer(StrEnum):
    """The answer that a ratio of two costs gives."""

    YES = "yes"
    NO = "NO"
    INCONCLUSIVE = "INCONCLUSIVE"


def interleaved(
    arms: Sequence[Arm], cost: Callable[[Arm], float], blocks: int = BLOCKS
) -> dict[Arm, dict[int, float]]:
    """The cost of each arm by block; each arm runs once in a block, in random order."""
    order = random.Random(SEED)
    found: dict[Arm, dict[int, float]] = {arm: {} for arm in arms}
    for block in range(blocks):
        for arm in order.sample(arms, len(arms)):
            found[arm][block] = cost(arm)
    return found


def is_conclusive(found: Interval) -> bool:
    """Whether a ratio is known well enough to decide whether it is 1."""
    return found.n > 1 and (found.high - found.low) / 2 <= HALF_WIDTH


def equal(found: Interval, tolerance: float) -> Answer:
    """Whether a ratio is 1: by its interval, or within the tolerance."""
    if not is_conclusive(found):
        return Answer.INCONCLUSIVE
    same = found.low <= 1 <= found.high or abs(found.value - 1) <= tolerance
    return Answer.YES if same else Answer.NO


def no_more(found: Interval, tolerance: float) -> Answer:
    """Whether a ratio is at most 1: by its interval, or within the tolerance."""
    if not is_conclusive(found):
        return Answer.INCONCLUSIVE
    return Answer.YES if found.low <= 1 or found.value <= 1 + tolerance else Answer.NO


def show(question: str, found: Interval, bar: str, answer: Answer) -> bool:
    """Prints the ratio and the answer; returns whether the bar is met."""
    print(f"{question}: {found:.3f}")
    words = f"{answer}"
    if answer is Answer.INCONCLUSIVE:
        words += f": the interval is wider than {HALF_WIDTH:.0%} to each side; take more blocks"
    print(f"  {bar}: {words}")
    return answer is Answer.YES
