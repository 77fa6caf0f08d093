"""The memory of a connection in words that its interval supports."""

import io

import pytest
from rich.console import Console

from tlslab.domain.scale import BackendScale, Reading, Scale, Slope
from tlslab.report.scale_tables import render_scale

KIB = 1024


def shown(*slopes: Slope, alive: int = 1000) -> str:
    readings = tuple(Reading(n, n * 9000, n * 31000, n * 12345) for n in (100, 1000))
    backend = BackendScale("rustls", 1000, alive, 1000 - alive, {}, readings, slopes)
    console = Console(width=100, record=True, file=io.StringIO(), highlight=False)
    scale = Scale("tlslab.scale/1", "reference", "tlslab-serve", (backend,))
    console.print(render_scale(scale))
    return console.export_text()


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((9.0, 9.5), "client: 9.21 KiB per connection (95 %: 9.00 to 9.50)"),
        ((None, None), "client: 9.21 KiB per connection (two levels: no interval)"),
        ((-9.1, 16.7), "client: cannot tell, -9.10 to 16.7 KiB per connection (95 %)"),
    ],
)
def test_a_slope_says_what_its_interval_carries(
    ends: tuple[float | None, float | None], words: str
) -> None:
    low, high = (None if end is None else end * KIB for end in ends)
    assert words in shown(Slope("client", 9.21 * KIB, low, high, 3))


def test_a_slope_below_nothing_has_no_value() -> None:
    said = shown(Slope("kernel", -1.2 * KIB, -9.1 * KIB, 6.7 * KIB, 5))
    assert "kernel, both ends: cannot tell, -9.10 to 6.70 KiB per connection (95 %)" in said
    assert "-1.20" not in said


def test_connections_that_were_lost_give_no_slope() -> None:
    slope = Slope("client", 9.21 * KIB, 9.0 * KIB, 9.5 * KIB, 3)
    said = shown(slope, alive=999)
    assert "of 1,000 connections 999 were held, 1 lost, failed: none" in said
    assert "KiB per connection" not in said
    assert "KiB per connection" in shown(slope)
