"""From samples to the parts of a connection's cost, each with its interval."""

import math
from collections import Counter
from collections.abc import Mapping

from tlslab.analysis.stats.estimate import CONFIDENCE
from tlslab.analysis.stats.share import proportion_interval
from tlslab.analysis.why.rules import NOT_ATTRIBUTED, Rules, stacks_of
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import SERVER_COST, parts_of
from tlslab.domain.stacks import CellStacks, CellWhy, CostPart
from tlslab.domain.wording import counted

# With fewer samples a part's interval is wider than the part.
FEWEST_SAMPLES = 5
OTHER = f"other (parts of fewer than {FEWEST_SAMPLES} samples)"
KERNEL_WHOLE = "kernel (not sampled)"


def cell_why(stacks: CellStacks, estimates: Mapping[str, Estimate], rules: Rules) -> CellWhy | None:
    """The parts of a cell's measured cost; None without a measured cost or samples."""
    cost = estimates.get(SERVER_COST)
    counts = part_counts(stacks, rules)
    total = sum(counts.values())
    if cost is None or not total or cost.value <= 0:
        return None
    sampled, parts = cost, list[CostPart]()
    if not stacks.kernel:
        user, system = (estimates.get(part) for part in parts_of(SERVER_COST))
        if user is None or system is None:
            return None
        # Ticks split the cost into these two; the sum is exact in each trial, but not for the
        # averages.
        scale = cost.value / (user.value + system.value)
        sampled = user.scaled(scale, user.unit)
        parts = [CostPart(KERNEL_WHOLE, 0, system.scaled(scale, system.unit))]
    found = [
        CostPart(name, count, share_of(count, total, sampled)) for name, count in counts.items()
    ]
    return CellWhy(
        stacks.cell,
        stacks.factors,
        cost,
        total,
        (*found, *parts),
        stacks.kernel,
        stacks.lost,
        stacks.server_us,
    )


def part_counts(stacks: CellStacks, rules: Rules) -> dict[str, int]:
    """The number of samples of each part, in the rules' order; small parts are joined.

    Samples that no rule matches are never joined with other parts.
    """
    counts: Counter[str] = Counter()
    for frames, number in stacks_of(stacks.folded):
        counts[rules.part_of(frames)] += number
    small = [
        name for name, count in counts.items() if count < FEWEST_SAMPLES and name != NOT_ATTRIBUTED
    ]
    if small:
        counts[OTHER] = sum(counts.pop(name) for name in small)
    order = [*rules.parts[:-1], OTHER, *rules.parts[-1:]]
    return {name: counts[name] for name in order if name in counts}


def share_of(count: int, total: int, cost: Estimate, level: float = 1 - CONFIDENCE) -> Estimate:
    """A share of the cost: the errors of share and cost are independent and add as squares.

    The error probability of the share's interval is `level`; the interval of the cost is not
    changed.
    """
    if not count:
        most = proportion_interval(0, total, level)[1] * cost.value
        return Estimate(0.0, 0.0, most, total, cost.unit, f"none of {counted(total, 'sample')}")
    share = count / total
    value = share * cost.value
    low, high = proportion_interval(count, total, level)
    below, above = (share - low) / share, (high - share) / share
    if cost.low is not None and cost.high is not None:
        below = math.hypot(below, (cost.value - cost.low) / cost.value)
        above = math.hypot(above, (cost.high - cost.value) / cost.value)
        error = "and of the measured cost"
    else:
        error = "only: the measured cost has no interval"
    method = (
        f"{count} of {counted(total, 'sample')} times the measured cost; {100 * (1 - level):.3g} % "
        f"interval of the share (Clopper and Pearson) {error}"
    )
    return Estimate(
        value, max(0.0, value * (1 - below)), value * (1 + above), total, cost.unit, method
    )
