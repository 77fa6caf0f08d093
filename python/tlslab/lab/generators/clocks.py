"""A host's clock against this machine's, by round trips as in NTP (RFC 5905).

A reading asks for the host's clock several times and keeps the shortest round trip: the host read
its clock at some instant of the round trip, so that the offset is known to half its length.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from tlslab.contract.record import HostClock
from tlslab.lab.generators.host import Host

# The round trips of a reading before and after a run; and of one during a run, which must not
# disturb the load.
ROUNDS = 16
ROUNDS_DURING = 4

# The largest steady drift: the limit to which NTP may slew a clock in Linux (MAXFREQ in
# include/linux/timex.h, 500 ppm). Crystals differ by far less.
DRIFT_LIMIT_PPM = 500.0

NS = 1e9
NS_PER_US = 1e3


def monotonic_ns() -> int:
    """CLOCK_MONOTONIC of this machine."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


@dataclass(frozen=True)
class ClockReading:
    """The host's clock minus this machine's at `at_ns` of the latter, known to `uncertainty_ns`."""

    at_ns: int
    offset_ns: int
    uncertainty_ns: int


def read_clock(host: Host, rounds: int, now: Callable[[], int] = monotonic_ns) -> ClockReading:
    """The best of several round trips. Raises HostLostError."""
    best: ClockReading | None = None
    for _ in range(rounds):
        before = now()
        there = host.now_ns()
        after = now()
        middle = (before + after) // 2
        # The halves are rounded up: the interval contains the offset whatever path the messages
        # took.
        reading = ClockReading(middle, there - middle, (after - before + 1) // 2 + 1)
        if best is None or reading.uncertainty_ns < best.uncertainty_ns:
            best = reading
    assert best is not None
    return best


class ClockTrack:
    """All readings of one host's clock in one run, the first of them before its start."""

    def __init__(self, first: ClockReading) -> None:
        self._readings = [first]
        self._at_start = first

    def add(self, reading: ClockReading) -> None:
        """Keeps a reading, the latest so far."""
        self._readings.append(reading)

    def start(self, at_ns: int) -> int:
        """The host's clock at the instant of the start, by the last reading before it."""
        self._at_start = self._readings[-1]
        return at_ns + self._at_start.offset_ns

    def clock(self) -> HostClock:
        """The offset that set the start, the drift and their uncertainty, from all readings."""
        first, last = self._readings[0], self._readings[-1]
        length = last.at_ns - first.at_ns
        drift, uncertainty = 0.0, 0.0
        if length > 0:
            drift = (last.offset_ns - first.offset_ns) / length * 1e6
            uncertainty = (last.uncertainty_ns + first.uncertainty_ns) / length * 1e6
        return HostClock(
            offset_s=self._at_start.offset_ns / NS,
            uncertainty_s=self._at_start.uncertainty_ns / NS,
            drift_ppm=drift,
            drift_uncertainty_ppm=uncertainty,
            moved_s=moved_ns(self._readings) / NS,
            readings=len(self._readings),
        )


def moved_ns(readings: Sequence[ClockReading]) -> float:
    """The least distance of the offsets from any straight line, given the errors of the readings.

    Two crystals differ by a steady drift of tens of ppm: a straight line, which is no fault. After
    a clock was set, or a host was stopped, the offsets fit no line of at most `DRIFT_LIMIT_PPM`.
    """
    first = readings[0]
    at_s = np.array([each.at_ns - first.at_ns for each in readings]) / NS
    offset_us = np.array([each.offset_ns - first.offset_ns for each in readings]) / NS_PER_US
    error_us = np.array([each.uncertainty_ns for each in readings]) / NS_PER_US
    if (np.abs(offset_us) <= error_us).all():
        # The two clocks may run at the same rate: then the slow search for a line is not needed.
        return 0.0
    # A linear program: the drift of a line (in ppm: us a second), and the narrowest band around it
    # that the interval of every reading overlaps.
    ones, zeros = np.ones(len(readings)), np.zeros(len(readings))
    found = scipy.optimize.linprog(
        c=[0, 1, -1],
        A_ub=[*np.column_stack((-at_s, -ones, zeros)), *np.column_stack((at_s, zeros, ones))],
        b_ub=[*(error_us - offset_us), *(error_us + offset_us)],
        bounds=[(-DRIFT_LIMIT_PPM, DRIFT_LIMIT_PPM), (None, None), (None, None)],
    )
    assert found.fun is not None, found.message
    return max(0.0, float(found.fun)) * NS_PER_US
