"""Times of connections: all values of a run's histogram, and of several runs together."""

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException
from hdrh.histogram import HdrHistogram

from tlslab.domain.errors import StoreError

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


def needed_n(p: float) -> int:
    """The number of values that a quantile needs: with fewer its interval has no end."""
    return math.ceil(round(8 / (1 - p), 6))
