"""Histograms as percentile tables: HdrHistogram's text format, which its plotters read."""

import io
import re
from collections.abc import Sequence
from pathlib import Path

from hdrh.histogram import HdrHistogram

# The times are nanoseconds, the table has milliseconds.
_NS_PER_MS = 1e6

_DEVIATION = re.compile(rb"(StdDeviation\s*=\s*)([\d.]+)")


def write_hgrm(encoded: Sequence[str], path: Path) -> None:
    """Writes the percentiles of all values of some histograms in milliseconds.

    `encoded` are HdrHistograms V2 in base64, in nanoseconds; they are added without loss.
    """
    whole = HdrHistogram.decode(encoded[0])
    for text in encoded[1:]:
        whole.decode_and_add(text)
    table = io.BytesIO()
    whole.output_percentile_distribution(table, _NS_PER_MS)

    def scaled(found: re.Match[bytes]) -> bytes:
        # The library leaves the deviation in the histogram's own unit.
        return found[1] + b"%12.*f" % (whole.significant_figures, float(found[2]) / _NS_PER_MS)

    path.write_bytes(_DEVIATION.sub(scaled, table.getvalue()))
