"""Quantiles of times, over the histograms of all trials of a cell."""

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy
from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException
from hdrh.histogram import HdrHistogram

from tlslab.analysis.stats import sequence
from tlslab.analysis.stats.estimate import CONFIDENCE, mean_interval
from tlslab.model.errors import StoreError
from tlslab.model.estimate import Estimate
from tlslab.model.trial import Trial

QUANTILES = (50, 90, 95, 99)

# The prefix of the estimates' names, and the record's histogram with the times.
TIMES = {
    "connect_ms": "connect",
    "handshake_ms": "handshake",
    "first_byte_ms": "first_byte",
    "service_ms": "service",
}

# The quantile of the normal distribution for 95 %.
_Z = 1.959964

_NS_PER_MS = 1e6

# What decoding raises for a text that is no histogram.
_DAMAGES = (
    HdrCookieException,
    HdrHistogramSettingsException,
    HdrLengthException,
    TypeError,
    ValueError,
    zlib.error,
)

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Distribution:
    """Times in milliseconds, ascending, and the count of each."""

    values: Array
    counts: npt.NDArray[np.int64]

    @classmethod
    def decode(cls, encoded: str) -> "Distribution":
        """From an HdrHistogram V2 in base64, in nanoseconds.

        Values are the middles of their buckets. Raises StoreError for what is no histogram.
        """
        try:
            histogram = HdrHistogram.decode(encoded)
        except _DAMAGES as error:
            words = f": {error}" if str(error) else ""
            raise StoreError(f"a histogram of times cannot be decoded{words}") from None
        counts = np.ctypeslib.as_array(histogram.encoder.get_counts())
        indexes = np.flatnonzero(counts)
        return cls(_middles(histogram, indexes) / _NS_PER_MS, counts[indexes].astype(np.int64))

    @classmethod
    def merge(cls, parts: Iterable["Distribution"]) -> "Distribution":
        """All values of all parts."""
        listed = list(parts)
        if not listed:
            return cls(np.empty(0), np.empty(0, dtype=np.int64))
        values, index = np.unique(np.concatenate([p.values for p in listed]), return_inverse=True)
        counts = np.zeros(len(values), dtype=np.int64)
        np.add.at(counts, index, np.concatenate([p.counts for p in listed]))
        return cls(values, counts)

    @property
    def n(self) -> int:
        """The number of times."""
        return int(self.counts.sum())

    def at_rank(self, rank: int) -> float:
        """The value of this rank, counted from 1 and limited to the existing ranks."""
        ranks = np.cumsum(self.counts)
        index = int(np.searchsorted(ranks, min(max(rank, 1), self.n)))
        return float(self.values[index])

    def quantile(self, p: float) -> float:
        """The least value that is not exceeded by a share p of all values."""
        return self.at_rank(math.ceil(p * self.n))

    def mean(self) -> float:
        """The mean."""
        return float(np.average(self.values, weights=self.counts))

    def sd(self) -> float:
        """The standard deviation."""
        squares = np.square(self.values - self.mean())
        return math.sqrt(float(np.average(squares, weights=self.counts)))


def _middles(histogram: HdrHistogram, indexes: npt.NDArray[np.int64]) -> Array:
    """The middle of the values that are counted at each index, in the histogram's unit.

    HdrHistogram's `medianEquivalentValue` for all indexes at once; one by one, this would take as
    long as the rest of a run's analysis.
    """
    half = int(histogram.sub_bucket_half_count)
    bucket = (indexes >> int(histogram.sub_bucket_half_count_magnitude)) - 1
    # The first bucket has both halves of its sub-buckets.
    sub_bucket = (indexes & (half - 1)) + np.where(bucket < 0, 0, half)
    shift = np.maximum(bucket, 0) + int(histogram.unit_magnitude)
    middles: Array = ((sub_bucket << shift) + ((1 << shift) >> 1)).astype(np.float64)
    return middles


def times(trials: Sequence[Trial], histogram: str, whole: bool = False) -> list[Distribution]:
    """One histogram of each trial's capacity run, decoded; empty ones are left out.

    The histograms are those of the client that carried the load, or of the `whole` load.
    """
    records = (run.record for trial in trials if (run := trial.runs.get("capacity")) is not None)
    encoded = (
        (record.histograms if whole else record.load_histograms).get(histogram)
        for record in records
    )
    decoded = (Distribution.decode(text) for text in encoded if text)
    return [each for each in decoded if each.n]


def quantiles(
    prefix: str, parts: Sequence[Distribution], anytime: bool = False
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
        name = f"{prefix}_p{percentage}"
        needed = needed_n(p)
        if whole.n < needed:
            missing[name] = f"not measurable: {whole.n} values, {needed} are needed"
        else:
            found[name] = _estimate(whole, parts, p, anytime)
    return found, missing


def needed_n(p: float) -> int:
    """The number of values that a quantile needs: with fewer its interval has no end."""
    return math.ceil(round(8 / (1 - p), 6))


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
