"""Cells with chosen values, block by block."""

import math
from collections.abc import Mapping, Sequence

from tlslab.analysis.compare import Measured
from tlslab.analysis.stats.estimate import estimate
from tlslab.domain.finding import CellSummary

RATE = "connections_per_s"


def measured(factors: Mapping[str, str], logs: Sequence[float]) -> Measured:
    """A valid cell; its rates are 1,000/s times the exponentials of `logs`."""
    values = [1000.0 * math.exp(each) for each in logs]
    summary = CellSummary(
        key=",".join(f"{name}={level}" for name, level in factors.items()),
        factors=factors,
        verdict="valid",
        reasons=(),
        trials=len(values),
        estimates={RATE: estimate(values, "1/s")},
    )
    return Measured(summary, {RATE: dict(enumerate(values))})
