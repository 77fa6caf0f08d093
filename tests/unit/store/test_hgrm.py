"""Percentile tables: the text of the library, which takes a hundred times as long."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from factories.histogram import encoded_histogram
from tlslab.store.hgrm import write_hgrm


def library_table(encoded: Sequence[str]) -> str:
    """The library's text in milliseconds; it leaves the deviation in nanoseconds."""
    whole = HdrHistogram.decode(encoded[0])
    for text in encoded[1:]:
        whole.decode_and_add(text)
    table = io.BytesIO()
    whole.output_percentile_distribution(table, 1e6)
    deviation = whole.get_stddev()
    text = table.getvalue().decode()
    return text.replace(f"= {deviation:12.3f}]", f"= {deviation / 1e6:12.3f}]", 1)


def own_table(encoded: Sequence[str], folder: Path) -> str:
    path = folder / "own.hgrm"
    write_hgrm(encoded, path)
    return path.read_text("ascii")


def logarithms(seed: int, count: int) -> str:
    values = np.random.default_rng(seed).lognormal(14, 1.5, count)
    return encoded_histogram(np.maximum(values, 1).astype(np.int64))


@pytest.mark.parametrize(
    "encoded",
    [
        [logarithms(1, 50_000)],
        [logarithms(2, 3_000), logarithms(3, 10), logarithms(4, 700)],
        [encoded_histogram(np.array([1]))],
        [encoded_histogram(np.array([2047, 2048, 4095, 4096, 3600 * 10**9 - 1]))],
    ],
)
def test_the_table_is_the_library_s(encoded: list[str], tmp_path: Path) -> None:
    assert own_table(encoded, tmp_path) == library_table(encoded)


# The library takes a second each.
@settings(max_examples=5, deadline=None)
@given(st.lists(st.integers(1, 10**11), min_size=1, max_size=40))
def test_the_table_is_the_library_s_for_any_times(
    tmp_path_factory: pytest.TempPathFactory, values: list[int]
) -> None:
    encoded = [encoded_histogram(np.array(values, dtype=np.int64))]
    assert own_table(encoded, tmp_path_factory.getbasetemp()) == library_table(encoded)


def test_a_histogram_without_a_value_has_a_table_without_rows(tmp_path: Path) -> None:
    encoded = [HdrHistogram(1, 3600 * 10**9, 3).encode().decode()]
    assert own_table(encoded, tmp_path) == library_table(encoded)
