"""The comparison of the tool's times with those of a packet capture of the same connections."""

import bisect
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tlslab.domain.validation import (
    PHASES,
    QUANTILES,
    TOLERANCE,
    CapturedConnection,
    CaptureVerdict,
    Comparison,
    PhaseResult,
    Resolution,
    TracedConnection,
)

# A quantile p needs at least 8 / (1 - p) samples.
NEEDED = 8

# A traced and a captured connection of the same port are one connection if they start within this
# time of each other: the clocks are mapped once, and a port is not reused that soon.
NEAR_NS = 200_000_000

Pair = tuple[TracedConnection, CapturedConnection]
Times = npt.NDArray[np.float64]


def match(
    traced: Sequence[TracedConnection], captured: Sequence[CapturedConnection], offset_ns: int
) -> tuple[list[Pair], int]:
    """Completed connections with their counterparts in the capture, and the number without one.

    `offset_ns` is CLOCK_REALTIME minus CLOCK_MONOTONIC. The offset only helps to find the
    counterpart among connections of the same port; the compared durations are each on one clock.
    """
    of_port: defaultdict[int, list[CapturedConnection]] = defaultdict(list)
    for connection in captured:
        of_port[connection.local_port].append(connection)
    pairs, missing = [], 0
    for mine in traced:
        if mine.outcome != "completed" or mine.local_port is None or mine.started_ns is None:
            continue
        candidates = of_port[mine.local_port]
        index = _nearest(candidates, mine.started_ns + offset_ns)
        if index is None:
            missing += 1
        else:
            pairs.append((mine, candidates.pop(index)))
    return pairs, missing


def _nearest(candidates: list[CapturedConnection], at: int) -> int | None:
    begins = [candidate.syn_ns for candidate in candidates]
    place = bisect.bisect_left(begins, at)
    near = [index for index in (place - 1, place) if 0 <= index < len(begins)]
    best = min(near, key=lambda index: abs(begins[index] - at), default=None)
    return best if best is not None and abs(begins[best] - at) <= NEAR_NS else None


def compare(pairs: Sequence[Pair], resolution: Resolution) -> tuple[PhaseResult, ...]:
    """Every phase over all pairs that have it on both sides."""
    return tuple(_phase(phase, pairs, resolution) for phase in PHASES)


def tool_ns(phase: str, connection: TracedConnection) -> int | None:
    """A phase's duration as the tool reports it: between two of its readings of the clock."""
    ends = {
        "connect": (connection.started_ns, connection.established_ns),
        "handshake": (connection.established_ns, connection.secured_ns),
        "first_byte": (connection.secured_ns, connection.answered_ns),
        "close": (connection.started_ns, connection.ended_ns),
    }
    return _between(*ends[phase])


def capture_ns(phase: str, connection: CapturedConnection) -> int | None:
    """The same phase between two packets; the whole ends with the client's RST or FIN."""
    ends = {
        "connect": (connection.syn_ns, connection.syn_ack_ns),
        "handshake": (connection.syn_ack_ns, connection.asked_ns),
        "first_byte": (connection.asked_ns, connection.answered_ns),
        "close": (connection.syn_ns, connection.closed_ns),
    }
    return _between(*ends[phase])


def _between(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start


def _phase(phase: str, pairs: Sequence[Pair], resolution: Resolution) -> PhaseResult:
    both = [(tool_ns(phase, mine), capture_ns(phase, theirs)) for mine, theirs in pairs]
    known = [(a, b) for a, b in both if a is not None and b is not None]
    if not known:
        return PhaseResult(phase, 0, (), 0.0, 0.0)
    tool, capture = np.array(known, dtype=float).T
    differences = (tool - capture) / 1000
    return PhaseResult(
        phase=phase,
        n=len(known),
        comparisons=tuple(_quantile(q, tool, capture, resolution) for q in QUANTILES),
        difference_median_us=float(np.quantile(differences, 0.5)),
        difference_p99_us=float(np.quantile(differences, 0.99)),
    )


def _quantile(q: float, tool: Times, capture: Times, resolution: Resolution) -> Comparison:
    mine, theirs = float(np.quantile(tool, q)), float(np.quantile(capture, q))
    return Comparison(
        quantile=q,
        tool_ms=mine / 1e6,
        capture_ms=theirs / 1e6,
        ratio=mine / theirs if theirs > 0 else float("inf"),
        agrees=_capture_verdict(q, len(tool), mine, theirs, resolution),
    )


def _capture_verdict(
    q: float, n: int, mine: float, theirs: float, resolution: Resolution
) -> CaptureVerdict:
    difference = abs(mine - theirs)
    if n < NEEDED / (1 - q):
        return "too few"
    if difference <= TOLERANCE * theirs:
        return "1 %"
    return "resolution" if difference <= resolution.at(q) * 1000 else "no"
