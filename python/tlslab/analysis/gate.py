"""The verdict of a gate: whether a run or server is slower than another by more than a limit. Pure.

Each ratio becomes a slowdown: how many times slower, whatever its estimate. A slowdown beyond
the limit is established by a one-sided test at 5 % over the family of all gated ratios (Holm); it
is excluded if each ratio's own one-sided 95 % bound lies below the limit (all must, so that no
adjustment is needed: Berger 1982, intersection-union tests).

Of two servers of one run, the test is that of signed ranks over the ratios of the blocks
(stats.signed_rank), if the blocks are enough for that many ratios. Otherwise the mean of the
logarithms decides, by Student's t with the degrees of freedom of its error, or by the normal
distribution where the error comes from a confidence sequence.

A lower bound on one side leaves one half of the question: a server whose rate is at least that of
the bound is slower than the other at most, the other is slower than it at least. So a bounded
baseline may establish a slowdown and never excludes one, a bounded candidate the reverse.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tlslab.analysis.judged_estimates import gated_rates
from tlslab.analysis.stats.estimate import Spread
from tlslab.analysis.stats.families import LEVEL, holm
from tlslab.analysis.stats.power import needed_effect
from tlslab.analysis.stats.signed_rank import SignedRanks
from tlslab.domain.estimates import SERVER_COST, quantity
from tlslab.domain.finding import Comparison
from tlslab.domain.gate import Gate, Gated, GateVerdict
from tlslab.domain.stopping import LEAST_BLOCKS

# How far the least p-value of signed ranks is below the level that it has to reach.
_FAR_BELOW = 0.25


def gate(comparisons: Sequence[Comparison], limit: float, estimates: Sequence[str] = ()) -> Gate:
    """Compares the ratios of these estimates with a limit: 0.03 for 3 %.

    By default the rates, and the server's processor time per connection: a busy generator bounds
    the first, not the second.

    `slower` if one ratio is, `passed` if all are below the limit, else `cannot_tell`.
    """
    named = estimates or (*gated_rates({each.estimate for each in comparisons}), SERVER_COST)
    chosen = [each for each in comparisons if each.estimate in named]
    judged = [each for each in chosen if _is_judged(each)]
    known = [(each, _slowdown(each, len(judged))) for each in judged]
    allowed = math.log1p(limit)
    adjusted = holm(
        [1.0 if each.bounded == "candidate" else found.p_above(allowed) for each, found in known]
    )
    ratios = tuple(
        _gated(each, found, limit, p, LEVEL / len(known))
        for (each, found), p in zip(known, adjusted, strict=True)
    )
    undecided = tuple(each for each in chosen if not _is_judged(each))
    verdict: GateVerdict = "cannot_tell"
    if any(each.verdict == "slower" for each in ratios):
        verdict = "slower"
    elif ratios and not undecided and all(each.verdict == "passed" for each in ratios):
        verdict = "passed"
    return Gate(verdict, limit, ratios, undecided)


class _Slowdown(Protocol):
    """The logarithm of how many times slower, by either method; `spread` is its error."""

    @property
    def centre(self) -> float: ...

    @property
    def spread(self) -> Spread: ...

    def p_above(self, value: float) -> float: ...

    def low(self, level: float) -> float: ...

    def high(self, level: float) -> float: ...


@dataclass(frozen=True)
class _ByMean:
    """The mean of logarithms with its error."""

    centre: float
    spread: Spread

    def p_above(self, value: float) -> float:
        return self.spread.beyond(self.centre - value)

    def low(self, level: float) -> float:
        return self.centre - self._half(level)

    def high(self, level: float) -> float:
        return self.centre + self._half(level)

    def _half(self, level: float) -> float:
        return self.spread.quantile(1 - level) * self.spread.error


class _ByRanks(SignedRanks):
    """The logarithms of the blocks."""

    @property
    def spread(self) -> Spread:
        """The error of a mean whose bounds are as far apart."""
        degrees = len(self.data) - 1
        unit = Spread(1.0, degrees).quantile(1 - LEVEL)
        return Spread((self.high(LEVEL) - self.low(LEVEL)) / 2 / unit, degrees)


def _is_judged(found: Comparison) -> bool:
    """Whether a ratio has an interval, is comparable, and has enough trials."""
    without = found.error is None or found.low is None
    comparable = found.verdict != "not_comparable" or found.bounded is not None
    return found.n >= LEAST_BLOCKS and not without and comparable


def _slowdown(found: Comparison, ratios: int) -> _Slowdown:
    """The slowdown of a judged ratio, one of several.

    Signed ranks of n blocks have no p-value below 1 / 2^n. Where that is not far below the level of
    the first of the ratios, they could hardly establish anything, and the mean decides.
    """
    assert found.error is not None
    sign = -1.0 if quantity(found.estimate).more_is_better else 1.0
    least = 0.5**found.n
    if found.by_block is not None and least <= _FAR_BELOW * LEVEL / ratios:
        return _ByRanks(sign * np.log(found.by_block))
    return _ByMean(sign * math.log(found.ratio), Spread(found.error, found.degrees))


def _gated(found: Comparison, slowdown: _Slowdown, limit: float, p: float, level: float) -> Gated:
    """The gated ratio. `p` is adjusted for the family.

    `level` is that of the family's first ratio.
    """
    allowed = math.log1p(limit)
    low = -math.inf if found.bounded == "candidate" else slowdown.low(LEVEL)
    high = math.inf if found.bounded == "baseline" else slowdown.high(LEVEL)
    verdict: GateVerdict = "cannot_tell"
    if p <= LEVEL:
        verdict = "slower"
    elif high < allowed:
        verdict = "passed"
    spread = slowdown.spread
    needed = needed_effect(spread.quantile(1 - level), spread.degrees)
    findable = math.expm1(allowed + needed * spread.error)
    return Gated(found, math.exp(slowdown.centre), math.exp(low), math.exp(high), verdict, findable)
