import pytest

from bench.cells import FULL, LEAN, Cell
from bench.child import Busy, Run
from bench.generators import Counted, Generator
from bench.rivals import Results, Sample
from bench.server import Page, Server

BLOCKS = range(4)
NOISE = (1.00, 1.02, 0.99, 1.01)
BAR = 5.0


def sample(cpu_us: float, limit: float | None = None) -> Sample:
    run = Run(
        output="",
        code=0,
        seconds=1.0,
        user_us=cpu_us * 600,
        system_us=cpu_us * 400,
        busy=Busy(0.99, 0.4, server_process=0.99),
    )
    return Sample(run, Counted(1000, 0), limit)


def generator(name: str, ours: bool = False) -> Generator:
    def number(server: Server, number: int) -> list[str]:
        return []

    return Generator(
        name,
        lambda server, seconds, rate: [],
        lambda output: Counted(0, 0),
        number=number if ours else None,
    )


def cell(*rivals: str) -> Cell:
    ours = [generator(LEAN, ours=True), generator(FULL, ours=True)]
    every = [*ours, *map(generator, rivals)]
    return Cell("new", Page(2048), every, r"\. [a-z]+ 200", bars={LEAN: BAR})


def results(lean: float = 78, full: float = 140, ab: float = 460, limit: float = 60) -> Results:
    found = Results(cell("ab", "wrk"))
    for block in BLOCKS:
        for name, cost in ((LEAN, lean), (FULL, full), ("ab", ab), ("wrk", 2 * ab)):
            ours = limit * NOISE[block] if name in (LEAN, FULL) else None
            found.add(name, block, sample(cost * NOISE[block], ours))
    return found


def test_noise_that_a_block_has_in_common_does_not_widen_a_ratio() -> None:
    times = results().over("ab", LEAN)
    assert times.value == pytest.approx(460 / 78)
    assert times.high - times.low < 1e-6


def test_the_distance_to_the_limit_is_paired_by_block_and_ours_only() -> None:
    found = results()
    assert found.best_rival == "ab"
    over = found.over_limit(LEAN)
    assert over is not None
    assert over.value == pytest.approx(78 / 60)
    assert over.high - over.low < 1e-6
    assert found.over_limit("ab") is None


def test_a_bar_within_the_interval_is_not_met() -> None:
    """The mean is above the bar, the lower end of the interval is not."""
    found = results()
    for block, noise in zip(BLOCKS, (0.8, 0.9, 1.0, 1.1), strict=True):
        found.add("ab", block, sample(5.8 * 78 * noise * NOISE[block]))
        found.add("wrk", block, sample(900 * NOISE[block]))
    times = found.over("ab", LEAN)
    assert times.low < BAR < times.value
    assert not found.bars()[0].met


def test_a_cell_without_a_rival_has_no_bar_of_one() -> None:
    found = Results(cell())
    for block in BLOCKS:
        for name in (LEAN, FULL):
            found.add(name, block, sample(78 * NOISE[block]))
    assert found.best_rival is None
    assert not any("needs at least" in bar.text for bar in found.bars())


def test_lines_of_other_work_are_not_as_meant() -> None:
    assert cell().is_as_meant(". a 200")
    assert not cell().is_as_meant("r a 200")
    assert not cell().is_as_meant(". a 200 and more")
