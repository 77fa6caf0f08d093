"""The verdict of a gate: whether a run or server is slower than another by more than a limit. Pure.

Each ratio becomes a slowdown: how many times slower, whatever its estimate. A slowdown beyond
the limit is established by a one-sided test at 5 % over the family of all gated ratios (Holm); it
is excluded if each ratio's own one-sided 95 % bound lies below the limit (all must, so that no
adjustment is needed: Berger 1982, intersection-union tests). Both use Student's t with the degrees
of freedom of the ratio's error, or the normal distribution where the error comes from a confidence
sequence.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tlslab.analysis.compare import is_amount, more_is_faster
from tlslab.analysis.judged_estimates import gated_rates
from tlslab.analysis.stats.estimate import Spread
from tlslab.analysis.stats.families import LEVEL, holm
from tlslab.analysis.stats.power import needed_effect
from tlslab.model.finding import Comparison
from tlslab.model.stopping import LEAST_BLOCKS

GateVerdict = Literal["slower", "passed", "cannot_tell"]


@dataclass(frozen=True)
class Gated:
    """A gated ratio: how many times slower B is, its one-sided 95 % bounds, and its verdict.

    `findable`: the slowdown, as a share, that 9 of 10 such runs establish for a single ratio (for
    one of ten ratios: 84 of 100 runs), whatever the other ratios are.
    """

    comparison: Comparison
    slowdown: float
    low: float
    high: float
    verdict: GateVerdict
    findable: float


@dataclass(frozen=True)
class Gate:
    """The verdict over all gated ratios; `undecided` are those without an interval or a ratio."""

    verdict: GateVerdict
    limit: float
    ratios: tuple[Gated, ...]
    undecided: tuple[Comparison, ...]


def gate(comparisons: Sequence[Comparison], limit: float, estimates: Sequence[str] = ()) -> Gate:
    """Compares the ratios of these estimates, by default of the rates, with a limit: 0.03 for 3 %.

    `slower` if one ratio is, `passed` if all are below the limit, else `cannot_tell`.
    """
    named = estimates or gated_rates({each.estimate for each in comparisons})
    chosen = [each for each in comparisons if each.estimate in named]
    known = [(each, found) for each in chosen if (found := _slowdown(each)) is not None]
    allowed = math.log1p(limit)
    adjusted = holm([spread.beyond(centre - allowed) for _, (centre, spread) in known])
    ratios = tuple(
        _gated(each, centre, spread, limit, p, LEVEL / len(known))
        for (each, (centre, spread)), p in zip(known, adjusted, strict=True)
    )
    undecided = tuple(each for each in chosen if _slowdown(each) is None)
    verdict: GateVerdict = "cannot_tell"
    if any(each.verdict == "slower" for each in ratios):
        verdict = "slower"
    elif ratios and not undecided and all(each.verdict == "passed" for each in ratios):
        verdict = "passed"
    return Gate(verdict, limit, ratios, undecided)


def _slowdown(found: Comparison) -> tuple[float, Spread] | None:
    """The logarithm of how many times slower, and its error.

    None without an interval, for comparisons that are not comparable, and with fewer than
    LEAST_BLOCKS trials.
    """
    few = found.n < LEAST_BLOCKS
    if few or found.error is None or found.low is None or found.verdict == "not_comparable":
        return None
    centre = math.log(found.ratio)
    falls = more_is_faster(found.estimate) or found.estimate.endswith("_per_s")
    if is_amount(found.estimate):
        falls = False
    return (-centre if falls else centre), Spread(found.error, found.degrees)


def _gated(
    found: Comparison, centre: float, spread: Spread, limit: float, p: float, level: float
) -> Gated:
    """The gated ratio. `p` is adjusted for the family.

    `level` is that of the family's first ratio.
    """
    allowed = math.log1p(limit)
    half = spread.quantile(1 - LEVEL) * spread.error
    verdict: GateVerdict = "cannot_tell"
    if p <= LEVEL:
        verdict = "slower"
    elif centre + half < allowed:
        verdict = "passed"
    needed = needed_effect(spread.quantile(1 - level), spread.degrees)
    findable = math.expm1(allowed + needed * spread.error)
    low, high = math.exp(centre - half), math.exp(centre + half)
    return Gated(found, math.exp(centre), low, high, verdict, findable)
