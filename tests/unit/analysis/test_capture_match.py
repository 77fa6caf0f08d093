"""Matching a trace with a capture, and the verdict on their times."""

import pytest

from tlslab.analysis.capture_match import NEAR_NS, Pair, compare, match
from tlslab.domain.validation import CapturedConnection, PhaseResult, Resolution, TracedConnection

MS = 1_000_000
RESOLUTION = Resolution(median_us=40, p99_us=100, n=1000)
OFFSET = 10**18


def traced(start: int, whole: int = 40 * MS, port: int = 40_000) -> TracedConnection:
    return TracedConnection(
        port, start, start + 30_000, start + 800_000, start + whole, start + whole, "completed"
    )


def captured(start: int, whole: int = 40 * MS, port: int = 40_000) -> CapturedConnection:
    return CapturedConnection(
        port, start, start + 2_000, start + 800_000, start + whole, start + whole
    )


def pairs(n: int, more: int) -> list[Pair]:
    """Connections that took `more` nanoseconds longer by the tool than in truth."""
    return [(traced(MS, 40 * MS + more), captured(OFFSET + MS)) for _ in range(n)]


def phase(results: tuple[PhaseResult, ...], name: str) -> PhaseResult:
    return next(result for result in results if result.phase == name)


def test_connections_are_matched_by_port_and_time() -> None:
    mine = [traced(t, port=p) for t, p in [(0, 1), (MS, 2), (10**9, 1)]]
    theirs = [captured(OFFSET + t, port=p) for t, p in [(5, 1), (MS, 2), (10**9 - 5, 1), (2, 3)]]
    found, missing = match(mine, theirs, OFFSET)
    assert missing == 0
    assert [pair[1].syn_ns - OFFSET for pair in found] == [5, MS, 10**9 - 5]


def test_a_connection_that_the_capture_lacks_is_missing() -> None:
    far = [captured(OFFSET + NEAR_NS + 1), captured(OFFSET, port=1)]
    assert match([traced(0)], far, OFFSET) == ([], 1)


def test_each_captured_connection_is_used_once() -> None:
    found, missing = match([traced(0), traced(1)], [captured(OFFSET)], OFFSET)
    assert (len(found), missing) == (1, 1)


def test_connections_that_did_not_complete_are_not_looked_for() -> None:
    failed = TracedConnection(None, 0, None, None, None, 5, "refused")
    assert match([failed], [], OFFSET) == ([], 0)


@pytest.mark.parametrize(
    ("more", "agrees"), [(0, "1 %"), (399_000, "1 %"), (-399_000, "1 %"), (401_000, "no")]
)
def test_one_per_cent_is_the_bar(more: int, agrees: str) -> None:
    close = phase(compare(pairs(1000, more), RESOLUTION), "close")
    assert [comparison.agrees for comparison in close.comparisons] == [agrees, agrees]
    assert close.difference_median_us == pytest.approx(more / 1000)


def test_below_the_resolution_a_difference_is_not_held_against_the_tool() -> None:
    """Connect takes 2 µs on the wire, and 30 µs by the tool: 40 µs are within the resolution."""
    connect = phase(compare(pairs(1000, 0), RESOLUTION), "connect")
    assert [comparison.agrees for comparison in connect.comparisons] == ["resolution"] * 2
    finer = phase(compare(pairs(1000, 0), Resolution(20, 20, 1000)), "connect")
    assert [comparison.agrees for comparison in finer.comparisons] == ["no", "no"]


def test_a_quantile_needs_connections() -> None:
    close = phase(compare(pairs(799, 0), RESOLUTION), "close")
    assert [comparison.agrees for comparison in close.comparisons] == ["1 %", "too few"]


def test_a_phase_that_nobody_saw_has_no_comparisons() -> None:
    lacking = CapturedConnection(1, OFFSET, None, None, None, None)
    results = compare([(traced(0), lacking)], RESOLUTION)
    assert {(result.n, result.comparisons) for result in results} == {(0, ())}
