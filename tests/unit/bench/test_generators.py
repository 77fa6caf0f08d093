from pathlib import Path

import pytest

from bench import generators
from bench.cells import Cell
from bench.server import Page, Server

SERVER = Server("localhost", 8443, 8080, "/document", Path("ca.pem"), 1, Path("facts.log"))

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "parse", "completed", "failed"),
    [
        ("tlslab-load", generators.tlslab_load, 20, 0),
        ("ab", generators.ab_counts, 50, 0),
        ("ab-404", generators.ab_counts, 50, 50),
        ("wrk-404", generators.wrk_counts, 703, 703),
        ("h2load", generators.h2load_counts, 50, 0),
        ("httperf", generators.httperf_counts, 40, 0),
        ("s_time", generators.s_time_counts, 475, 0),
    ],
)
def test_completed_and_failed_connections_are_read_from_the_output(
    name: str, parse: generators.Parser, completed: int, failed: int
) -> None:
    counted = parse(golden(name))
    assert (counted.completed, counted.failed) == (completed, failed)


def test_an_earlier_build_makes_the_same_load_and_is_no_rival() -> None:
    def command(_: Server, seconds: float, rate: int) -> list[str]:
        return ["tlslab-load", "--lean", "-d", f"{seconds:g}s", f"{rate}"]

    ours = generators.Generator("lean", command, generators.tlslab_load, number=lambda *_: [])
    earlier = generators.before(ours, "old/tlslab-load")
    assert earlier.command(SERVER, 4.0, 7) == ["old/tlslab-load", "--lean", "-d", "4s", "7"]
    assert not earlier.ours
    cell = Cell("a cell", Page(2048), [ours, earlier, generators.ab(50, "TLS1.3")], "")
    assert [one.name for one in cell.ours] == ["lean"]
    assert [one.name for one in cell.rivals] == ["ab"]
