"""The memory of a connection in words that its interval supports; a plan with its parts."""

import io

import pytest
from rich.console import Console, RenderableType

from factories.costs import made_calibration
from tlslab.analysis.costs.processors_needed import Bounds, size
from tlslab.analysis.costs.summary import calibration
from tlslab.domain.scale import BackendScale, Scale, ScalePoint, Slope
from tlslab.report.terminal_results import render_scale, render_sizing
from tlslab.words.sizing import answer

KIB = 1024


def shown(*slopes: Slope, alive: int = 1000) -> str:
    readings = tuple(ScalePoint(n, n * 9000, n * 31000, n * 12345) for n in (100, 1000))
    backend = BackendScale("rustls", 1000, alive, 1000 - alive, {}, readings, slopes)
    return printed(render_scale(Scale("tlslab.scale/1", "reference", "tlslab-serve", (backend,))))


def printed(part: RenderableType) -> str:
    console = Console(width=200, record=True, file=io.StringIO(), highlight=False)
    console.print(part)
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


def test_a_plan_has_its_answer_and_the_cost_of_every_part() -> None:
    contents = made_calibration(noise=0.01)
    found = calibration(contents)
    assert found.model is not None
    sizing = size(found.model, found.checks, found.model.centre, Bounds(0.8, None), rate=1000.0)
    said = printed(render_sizing(sizing, contents.environment))
    assert answer(sizing) in said
    assert all(share.part in said for share in sizing.shares)
