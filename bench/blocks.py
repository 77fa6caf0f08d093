"""Settings of a bench, its arms measured in turns by block, and intervals over the blocks.

The environment changes the number of blocks, a run's length in seconds, and the seed.
"""

import math
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np

from tlslab.analysis.compare import paired_logs
from tlslab.analysis.stats.estimate import mean_interval

BLOCKS = int(os.environ.get("BENCH_BLOCKS", "10"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "5"))
SEED = int(os.environ.get("BENCH_SEED", "20210401"))


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval; with one block only, the bounds are the value itself."""

    value: float
    low: float
    high: float
    n: int

    def __format__(self, spec: str) -> str:
        return f"{self.value:{spec}} ({self.low:{spec}}-{self.high:{spec}})"


def mean(values: Sequence[float]) -> Interval:
    """The geometric mean of one positive value per block."""
    return _of_logs(np.log(np.asarray(values, dtype=np.float64)))


def share(values: Sequence[float]) -> Interval:
    """The arithmetic mean of one share (0 to 1) per block; the bounds stay within that range."""
    centre, interval, _ = mean_interval(np.asarray(values, dtype=np.float64), "values")
    low, high = interval or (centre, centre)
    return Interval(centre, max(low, 0.0), min(high, 1.0), len(values))


def ratio(candidate: Mapping[int, float], baseline: Mapping[int, float]) -> Interval:
    """Candidate over baseline, paired by block."""
    return _of_logs(paired_logs(candidate, baseline))


def _of_logs(logs: "np.typing.NDArray[np.float64]") -> Interval:
    centre, interval, _ = mean_interval(logs, "log values")
    low, high = interval or (centre, centre)
    return Interval(math.exp(centre), math.exp(low), math.exp(high), len(logs))


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
