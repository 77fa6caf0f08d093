"""Quantiles of times, over the histograms of all trials of a cell."""

import math
from collections.abc import Sequence

import numpy as np
import scipy

from tlslab.analysis.stats import sequence
from tlslab.analysis.stats.estimate import CONFIDENCE, mean_interval
from tlslab.domain.distribution import Distribution, needed_n
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import quantile
from tlslab.domain.run_record import load_histograms
from tlslab.domain.trial import Trial

QUANTILES = (50, 90, 95, 99)

# The quantile of the normal distribution for 95 %.
_Z = 1.959964


def times(trials: Sequence[Trial], histogram: str, whole: bool = False) -> list[Distribution]:
    """One histogram of each trial's capacity run, decoded; empty ones are left out.

    The histograms are those of the client that carried the load, or of the `whole` load.
    """
    records = (run.record for trial in trials if (run := trial.runs.get("capacity")) is not None)
    encoded = (
        (record.histograms if whole else load_histograms(record)).get(histogram)
        for record in records
    )
    decoded = (Distribution.decode(text) for text in encoded if text)
    return [each for each in decoded if each.n]


def quantiles(
    time: str, parts: Sequence[Distribution], anytime: bool = False
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Estimates by name (`handshake_ms_p99`), and the reasons for those that are not measurable.

    `anytime`: the intervals hold although the trials determined their number. In a closed loop a
    time is the number of connections over the rate, and such a run ends by its rates.
    """
    whole = Distribution.merge(parts)
    found: dict[str, Estimate] = {}
    missing: dict[str, str] = {}
    for percentage in QUANTILES:
        p = percentage / 100
        name = quantile(time, percentage)
        needed = needed_n(p)
        if whole.n < needed:
            missing[name] = f"not measurable: {whole.n} values, {needed} are needed"
        else:
            found[name] = _estimate(whole, parts, p, anytime)
    return found, missing


def rank_interval(n: int, p: float) -> tuple[int, int]:
    """The 95 % interval of a quantile in ranks, from 1: order statistics, normal approximation."""
    half = _Z * math.sqrt(n * p * (1 - p))
    return max(1, math.floor(n * p - half)), min(n, math.ceil(n * p + half) + 1)


def _estimate(
    whole: Distribution, parts: Sequence[Distribution], p: float, anytime: bool
) -> Estimate:
    """A quantile of all values; the interval covers the scatter of values and of trials.

    Order statistics alone would treat connections as independent of their neighbours in a queue. A
    single trial has no interval.
    """
    value = whole.quantile(p)
    if len(parts) < 2:
        method = f"histogram of {whole.n} values; one trial: no interval"
        return Estimate(value, None, None, len(parts), "ms", method)
    low, high = (whole.at_rank(rank) for rank in rank_interval(whole.n, p))
    ranks = _ranks_over_trials(value, parts, p, anytime)
    low, high = min(low, whole.at_rank(ranks[0])), max(high, whole.at_rank(ranks[1]))
    if min(part.n for part in parts) >= needed_n(p):
        logs = np.log([part.quantile(p) for part in parts])
        _, between, _ = mean_interval(logs, "log values", anytime)
        if between is not None:
            low, high = min(low, math.exp(between[0])), max(high, math.exp(between[1]))
    method = (
        f"merged histograms; order statistics over {whole.n} values, 95 %, or by the scatter of "
        f"{len(parts)} trials where that is wider"
    )
    if anytime:
        method += ", which holds at any time"
    return Estimate(value, min(low, value), max(high, value), len(parts), "ms", method)


def _ranks_over_trials(
    value: float, parts: Sequence[Distribution], p: float, anytime: bool
) -> tuple[int, int]:
    """The ranks of the 95 % interval of a quantile, with each trial as one observation.

    Woodruff 1952, "Confidence intervals for medians and other position measures", Journal of the
    American Statistical Association 47: the interval of the share of values up to the estimate,
    with trials as clusters, is converted to ranks. A long queue makes many late connections in one
    trial and none in another; the number of values does not show that.
    """
    sizes = np.array([part.n for part in parts], dtype=np.float64)
    below = np.array([int(part.counts[part.values <= value].sum()) for part in parts])
    beyond = (below - below.sum() / sizes.sum() * sizes) / sizes.mean()
    count = len(parts)
    if anytime:
        low, high = sequence.mean_interval(beyond, 1 - CONFIDENCE) or (-p, 1 - p)
        half = (high - low) / 2
    else:
        t = float(scipy.special.stdtrit(count - 1, (1 + CONFIDENCE) / 2))
        half = t * float(beyond.std(ddof=1)) / math.sqrt(count)
    n = int(sizes.sum())
    return max(1, math.floor(n * (p - half))), min(n, math.ceil(n * (p + half)) + 1)
