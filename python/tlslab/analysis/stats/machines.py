"""Blocks of several machines: comparisons are within blocks (ADR 0105).

The mean is that of the machines of the run, and its interval holds for them. If a test finds that
they disagree, the interval is instead the one for any such machine: machines are then a random
effect, and the variance between them counts with the degrees of freedom of their number
(Satterthwaite 1946, "An approximate distribution of estimates of variance components", Biometrics
Bulletin 2).
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import scipy

from tlslab.analysis.stats.estimate import CONFIDENCE, Array

# The error probability of the test that machines agree.
DISAGREE = 0.05


class Block(int):
    """The number of a block, and that of the machine on which it was made; both count from 0."""

    machine: int

    def __new__(cls, number: int, machine: int) -> "Block":
        """A block of a machine."""
        block = super().__new__(cls, number)
        block.machine = machine
        return block


def machines_of(blocks: Iterable[int]) -> tuple[int, ...]:
    """The machine of each block; 0 for blocks of a run that had one machine."""
    return tuple(block.machine if isinstance(block, Block) else 0 for block in blocks)


def disagreement(data: Array, machines: Sequence[int]) -> float | None:
    """The p-value of the hypothesis that all machines have the same mean (one-way F test).

    None if it cannot be tested: one machine, or no machine with two blocks.
    """
    groups = _groups(data, machines)
    within = len(data) - len(groups)
    if len(groups) < 2 or within < 1:
        return None
    between_square, within_square = _mean_squares(groups)
    if within_square <= 1e-24:
        return 1.0 if between_square <= 1e-24 else 0.0
    ratio = between_square / within_square
    return float(scipy.special.fdtrc(len(groups) - 1, within, ratio))


def spread_out(data: Array, machines: Sequence[int]) -> Array:
    """The data, or, if their machines disagree, data of the same mean that are further apart.

    Student's 95 % interval of the result is the interval with machines as a random effect.
    """
    p = disagreement(data, machines)
    if p is None or p > DISAGREE:
        return data
    groups = _groups(data, machines)
    n, centre = len(data), float(data.mean())
    between_square, within_square = _mean_squares(groups)
    sizes = np.array([len(group) for group in groups])
    each = (n - float((sizes**2).sum()) / n) / (len(groups) - 1)
    share = float((sizes**2).sum()) / n**2 / each
    parts = (share * between_square, (1 / n - share) * within_square)
    variance = max(sum(parts), between_square / n)
    freedom = variance**2 / sum(
        part**2 / degrees
        for part, degrees in zip(parts, (len(groups) - 1, n - len(groups)), strict=True)
    )
    wanted = _critical(freedom) * math.sqrt(variance)
    plain = _critical(n - 1) * float(data.std(ddof=1)) / math.sqrt(n)
    return centre + (data - centre) * max(1.0, wanted / plain)


def _groups(data: Array, machines: Sequence[int]) -> list[Array]:
    of = np.asarray(machines)
    return [data[of == machine] for machine in sorted(set(machines))]


def _mean_squares(groups: Sequence[Array]) -> tuple[float, float]:
    """The mean squares between and within the groups."""
    whole = np.concatenate(groups)
    between = sum(len(group) * (group.mean() - whole.mean()) ** 2 for group in groups)
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    return float(between) / (len(groups) - 1), within / max(1, len(whole) - len(groups))


def _critical(degrees: float) -> float:
    return float(scipy.special.stdtrit(max(1.0, degrees), (1 + CONFIDENCE) / 2))
