"""Memory per connection out of levels."""

import pytest

from tlslab.analysis.stats.slope import slope, slopes
from tlslab.lab.scale import kernel_bytes
from tlslab.model.scale import Reading, Slope


def test_a_line_gives_its_slope_and_a_narrow_interval() -> None:
    found = slope("client", [1000, 5000, 10_000], [9_000_000, 29_000_000, 54_000_000])
    assert found.value == pytest.approx(5000)
    assert found.low == pytest.approx(5000)
    assert found.high == pytest.approx(5000)


def test_the_interval_is_students() -> None:
    """Slope 10.5, residuals -1, 2, -1 over x = 0, 1, 2: t of one degree of freedom is 12.706."""
    found = slope("client", [0, 1, 2], [0, 13, 21])
    error = (((-5 / 6) ** 2 + (5 / 3) ** 2 + (-5 / 6) ** 2) / 1 / 2) ** 0.5
    assert found.low is not None
    assert found.value == pytest.approx(10.5)
    assert found.value - found.low == pytest.approx(12.7062 * error, rel=1e-4)
    assert found.high == pytest.approx(2 * found.value - found.low)
    assert found.n == 3


def test_two_levels_have_no_interval_and_one_no_slope() -> None:
    assert slope("client", [1, 2], [5, 9]) == Slope("client", 4.0, None, None, 2)
    with pytest.raises(ValueError, match="two levels"):
        slope("client", [1, 1], [5, 9])


def test_a_side_that_was_not_read_has_no_slope() -> None:
    readings = tuple(Reading(n, n * 10, None, n * 3) for n in (1, 2, 3))
    assert [found.what for found in slopes(readings)] == ["client", "kernel"]
    both = tuple(Reading(n, n * 10, n * 20, n * 3) for n in (1, 2, 3))
    assert [(found.what, round(found.value)) for found in slopes(both)] == [
        ("client", 10),
        ("server", 20),
        ("kernel", 3),
    ]
    assert len(slopes(both[:2])) == 3
    assert slopes(both[:1]) == ()


def test_the_kernels_part_is_slabs_and_buffers() -> None:
    sockstat = "sockets: used 5\nTCP: inuse 3 orphan 0 tw 0 alloc 4 mem 2\nUDP: inuse 1 mem 9\n"
    meminfo = "MemTotal: 100 kB\nSlab:   7 kB\n"
    assert kernel_bytes(sockstat, meminfo) == 2 * 4096 + 7 * 1024
