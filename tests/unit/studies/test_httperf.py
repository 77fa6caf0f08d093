"""httperf's output, letter by letter."""

from dataclasses import replace
from pathlib import Path

from factories.run import made_run
from tlslab.contract.record import Bytes, CpuTime, Interval, Outcomes, TimeSummary
from tlslab.domain.trial import PaceSample, TrialRun
from tlslab.studies.runtimes.httperf import httperf_block

GOLDEN = Path(__file__).parent / "golden" / "httperf.txt"


def times(mean: float) -> TimeSummary:
    return TimeSummary(
        2000, mean / 4, mean, mean / 2, mean * 0.8, mean * 2, mean * 3, mean * 4, mean * 5, mean * 6
    )


def run() -> TrialRun:
    found = made_run().trials[0].runs["capacity"]
    still = CpuTime(0, 0)
    record = replace(
        found.record,
        outcomes=Outcomes(
            2003, 1990, 3, {"timeout_handshake": 4, "closed_body": 2, "body": 1}, {"suite": 3}
        ),
        requests=1990,
        seconds=20.0,
        cpu=CpuTime(1_500_000, 2_500_000),
        concurrency=12.2,
        bytes=Bytes(400_000, 4_000_000, 600_000, 9_000_000, 497_500, 4_075_520),
        summaries={
            "service": times(120.0),
            "established": times(90.0),
            "first_byte": times(25.0),
            "exchange": times(30.0),
        },
        intervals=tuple(Interval(float(n), 1.0, 90 + n, 0, still) for n in range(20)),
    )
    pace = tuple(PaceSample(float(at), 100.0, 3 * at, 0) for at in range(30))
    return replace(found, record=record, pace=pace)


def test_the_block_is_that_of_httperf() -> None:
    assert httperf_block(run()) == GOLDEN.read_text("utf-8")


def test_a_run_without_a_connection_is_all_zeros() -> None:
    empty = replace(run(), pace=())
    record = replace(
        empty.record,
        outcomes=Outcomes(0, 0, 0, {}, {}),
        requests=0,
        seconds=0.0,
        summaries={},
        intervals=(),
        concurrency=0.0,
    )
    block = httperf_block(replace(empty, record=record))
    assert block.startswith("Total: connections 0 requests 0 replies 0 test-duration 0.000 s\n")
    assert "nan" not in block
    assert "Reply rate [replies/s]: min 0.0 avg 0.0 max 0.0 stddev 0.0 (0 samples)" in block
