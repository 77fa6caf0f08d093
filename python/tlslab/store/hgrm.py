"""Histograms as percentile tables: HdrHistogram's text format, which its plotters read.

The text is that of `HdrHistogram.output_percentile_distribution`. That walks through all buckets
one by one, several times; here only those that hold a value are looked at.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hdrh.histogram import HdrHistogram

# The times are nanoseconds, the table has milliseconds.
_NS_PER_MS = 1e6

# Steps of the table between a level and the one halfway from it to 100 %: the library's default.
_TICKS = 5


@dataclass(frozen=True)
class _Buckets:
    """Buckets that hold a value: middle, highest value and count of each, ascending."""

    middles: tuple[int, ...]
    highest: tuple[int, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, histogram: HdrHistogram) -> "_Buckets":
        """Those of a histogram."""
        counts = np.ctypeslib.as_array(histogram.encoder.get_counts()).astype(np.int64)
        indexes = np.flatnonzero(counts)
        half = int(histogram.sub_bucket_half_count)
        bucket = (indexes >> int(histogram.sub_bucket_half_count_magnitude)) - 1
        # The first bucket has both halves of its sub-buckets.
        sub_bucket = (indexes & (half - 1)) + np.where(bucket < 0, 0, half)
        shift = np.maximum(bucket, 0) + int(histogram.unit_magnitude)
        lowest, size = sub_bucket << shift, np.int64(1) << shift
        return cls(
            tuple((lowest + (size >> 1)).tolist()),
            tuple((lowest + size - 1).tolist()),
            tuple(counts[indexes].tolist()),
        )

    @property
    def n(self) -> int:
        """How many values there are."""
        return sum(self.counts)

    def mean(self) -> float:
        """The mean, each value taken as its bucket's middle."""
        pairs = zip(self.middles, self.counts, strict=True)
        return float(sum(middle * count for middle, count in pairs)) / max(1, self.n)

    def deviation(self) -> float:
        """The standard deviation."""
        mean = self.mean()
        pairs = zip(self.middles, self.counts, strict=True)
        squares = sum((middle - mean) * (middle - mean) * count for middle, count in pairs)
        return math.sqrt(squares / max(1, self.n))

    def percentiles(self) -> Iterator[tuple[int, float, int]]:
        """Highest value, level in per cent, and how many values are up to it, of each row.

        A bucket has a row for each level that its values reach; the last bucket has one, and that
        of 100 %.
        """
        level, reached, n = 0.0, 0, self.n
        for highest, count in zip(self.highest, self.counts, strict=True):
            reached += count
            while reached < n and 100.0 * reached / n >= level:
                yield highest, level, reached
                level = _next(level)
        if n:
            yield self.highest[-1], level, n
            yield self.highest[-1], 100.0, n


def _next(level: float) -> float:
    """The next level of the table: the distance to 100 % is halved in `_TICKS` steps."""
    halves = math.pow(2, (math.log(100 / (100.0 - level)) / math.log(2)) + 1)
    return level + 100.0 / (_TICKS * halves)


def write_hgrm(encoded: Sequence[str], path: Path) -> None:
    """Writes the percentiles of all values of some histograms in milliseconds.

    `encoded` are HdrHistograms V2 in base64, in nanoseconds; they are added without loss.
    """
    whole = HdrHistogram.decode(encoded[0])
    for text in encoded[1:]:
        whole.decode_and_add(text)
    path.write_text("".join(_lines(whole)), "ascii")


def _lines(histogram: HdrHistogram) -> Iterator[str]:
    buckets, digits = _Buckets.of(histogram), int(histogram.significant_figures)

    def figure(value: float) -> str:
        return f"{value:12.{digits}f}"

    yield f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}\n\n"
    for highest, level, reached in buckets.percentiles():
        row = f"{figure(highest / _NS_PER_MS)} {level / 100:2.12f} {reached:10d}"
        yield f"{row}\n" if level == 100 else f"{row} {1 / (1 - level / 100):14.2f}\n"
    mean, deviation = buckets.mean() / _NS_PER_MS, buckets.deviation() / _NS_PER_MS
    most = int(histogram.get_max_value()) / _NS_PER_MS
    yield f"#[Mean    = {figure(mean)}, StdDeviation   = {figure(deviation)}]\n"
    yield f"#[Max     = {figure(most)}, TotalCount     = {figure(buckets.n)}]\n"
    counts = f"{histogram.bucket_count:12d}, SubBuckets     = {histogram.sub_bucket_count:12d}"
    yield f"#[Buckets = {counts}]\n"
