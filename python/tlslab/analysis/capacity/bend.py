"""The load from which on response times bend: are longer than BEND times those at the lowest load.

The rule is fixed before the run. From the highest load down, the load at which the response times
bend is the last one with a ratio that lies above BEND with its whole interval; from the lowest load
up, the last one below it with its whole interval is before the bend. The bend begins between the
two. Each order ends at the first load that does not decide: a fixed sequence, which needs no
adjustment for the number of loads (Maurer, Hothorn and Lehmacher 1995). Either end is wrong in
2.5 % of runs at most. Loads with a run that was not carried are past the bend.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from tlslab.analysis.capacity.points import LoadPoint, by_fraction, judged, time_estimates
from tlslab.analysis.stats.estimate import MOVER, ratio_of
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import RATIO, RESPONSE, statistic

# The open queue M/M/1 reaches this ratio to its time at a fifth of its maximum at 47 % of it.
BEND = 1.5

# The published study has three runs of each load. With two, an interval is 12.7 standard errors
# wide on each side.
FEWEST_RUNS = 3


@dataclass(frozen=True)
class Bend:
    """Where a response time (`of`: `mean`, `p99`) bends; loads are fractions of the maximum.

    `lowest`: the load with which others are compared. `before`: the highest load before the bend.
    `onward`: the lowest load past it, None if none is established. `ratio`: the time at `onward`,
    or else at the highest load, over that at `lowest`; None where the server did not keep up.
    """

    of: str
    lowest: float
    highest: float
    before: float
    onward: float | None
    ratio: Estimate | None


def bends(points: Sequence[LoadPoint]) -> Iterator[Bend]:
    """The bend of the mean and of the p99, of those that enough runs at two loads have."""
    groups = {
        fraction: group
        for fraction, group in by_fraction(judged(points)).items()
        if len([point for point in group if point.response.n]) >= FEWEST_RUNS
    }
    over = [f for f, group in groups.items() if any(p.verdict == "overloaded" for p in group)]
    carried = [f for f in groups if f < min(over, default=2 * max(groups))] if groups else []
    if len(groups) < 2 or not carried:
        return
    times = {f: time_estimates(groups[f], RESPONSE)[0] for f in carried}
    for name in ("mean", "p99"):
        found = {f: t for f in carried if (t := times[f].get(statistic(RESPONSE, name)))}
        if carried[0] in found:
            yield bend_of(name, found, min(over, default=None))


def bend_of(name: str, times: dict[float, Estimate], over: float | None) -> Bend:
    """The bend of one time by its estimates at the loads that were carried, ascending.

    `over`: the lowest load that was not carried.
    """
    lowest, *others = times
    ratios = {f: ratio_of(times[f], times[lowest], RATIO, MOVER) for f in others}
    before = list(takewhile(lambda f: (ratios[f].high or BEND) < BEND, others))
    past = list(takewhile(lambda f: (ratios[f].low or 0.0) > BEND, reversed(others)))
    onward = past[-1] if past else over
    highest = over or max(times)
    return Bend(
        of=name,
        lowest=lowest,
        highest=highest,
        before=before[-1] if before else lowest,
        onward=onward,
        ratio=ratios.get(highest if onward is None else onward),
    )
