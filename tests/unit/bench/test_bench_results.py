import pytest

from bench.child import Busy, Run
from bench.floor import NAMES, Floor
from bench.generators import Counted
from bench.results import FULL_NAME, LEAN_BAR, LEAN_NAME, Results, Sample

BLOCKS = range(4)
NOISE = (1.00, 1.02, 0.99, 1.01)


def sample(cpu_us: float, server: float = 0.99, generator: float = 0.4) -> Sample:
    run = Run(
        output="",
        code=0,
        seconds=1.0,
        user_us=cpu_us * 600,
        system_us=cpu_us * 400,
        busy=Busy(server, generator, server_process=server),
    )
    return Sample(run, Counted(1000, 0))


def results(lean: float = 78, full: float = 140, ab: float = 460, floor: float = 10) -> Results:
    found = Results(rivals=["ab", "wrk"])
    for block in BLOCKS:
        for name, cost in ((LEAN_NAME, lean), (FULL_NAME, full), ("ab", ab), ("wrk", 2 * ab)):
            found.add(name, block, sample(cost * NOISE[block]))
        found.floors[block] = Floor(dict.fromkeys(NAMES, floor))
    return found


def test_noise_that_a_block_has_in_common_does_not_widen_a_ratio() -> None:
    times = results().over("ab", LEAN_NAME)
    assert times.value == pytest.approx(460 / 78)
    assert times.high - times.low < 1e-6


def test_a_bar_within_the_interval_is_not_met() -> None:
    """The mean is above the bar, the lower end of the interval is not."""
    found = results()
    for block, noise in zip(BLOCKS, (0.8, 0.9, 1.0, 1.1), strict=True):
        found.add("ab", block, sample(5.8 * 78 * noise * NOISE[block]))
        found.add("wrk", block, sample(900 * NOISE[block]))
    times = found.over("ab", LEAN_NAME)
    assert times.low < LEAN_BAR < times.value
    assert not found.bars()[0].met
