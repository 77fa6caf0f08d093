"""Clocks by round trips: the offset is in its interval, whatever the path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.hosts import FakeHost
from tlslab.lab.generators.clocks import ClockReading, ClockTrack, read_clock

MS = 1_000_000


class Path:
    """A path to a host: each round trip takes the set time, there and back."""

    def __init__(self, offset_ns: int, trips: list[tuple[int, int]]) -> None:
        self._offset_ns = offset_ns
        self._trips = trips
        self.now = 10**12

    def clock(self) -> int:
        return self.now

    def host(self) -> FakeHost:
        host = FakeHost("h")
        host.now_ns = self._asked  # type: ignore[method-assign]
        return host

    def _asked(self) -> int:
        there, back = self._trips.pop(0)
        self.now += there
        shown = self.now + self._offset_ns
        self.now += back
        return shown


def track(*offsets_ms: float, uncertainty_ns: int = 1000) -> ClockTrack:
    readings = [
        ClockReading(second * 10**9, round(offset * MS), uncertainty_ns)
        for second, offset in enumerate(offsets_ms)
    ]
    found = ClockTrack(readings[0])
    for reading in readings[1:]:
        found.add(reading)
    return found


def moved_ms(*offsets_ms: float, uncertainty_ns: int = 1000) -> float:
    return track(*offsets_ms, uncertainty_ns=uncertainty_ns).clock().moved_s * 1e3


@given(
    st.integers(-(10**15), 10**15),
    st.lists(st.tuples(st.integers(0, 10**8), st.integers(0, 10**8)), min_size=1, max_size=8),
)
def test_the_offset_lies_within_its_uncertainty(
    offset_ns: int, trips: list[tuple[int, int]]
) -> None:
    path = Path(offset_ns, list(trips))
    reading = read_clock(path.host(), len(trips), path.clock)
    assert abs(reading.offset_ns - offset_ns) <= reading.uncertainty_ns
    assert reading.uncertainty_ns <= min(map(sum, trips)) / 2 + 2


def test_the_start_is_what_the_host_s_clock_will_show() -> None:
    assert track(250.0, 251.0).start(5 * MS) == 256 * MS


def test_the_offset_on_record_is_that_of_the_reading_that_set_the_start() -> None:
    found = ClockTrack(ClockReading(0, 0, 1000))
    found.add(ClockReading(10**9, 50_000, 9000))
    found.start(2 * 10**9)
    found.add(ClockReading(3 * 10**9, 150_000, 2000))
    clock = found.clock()
    assert (clock.offset_s, clock.uncertainty_s) == (50e-6, 9e-6)
    assert round(clock.drift_ppm, 6) == 50.0


def test_drift_is_known_as_well_as_its_ends_are() -> None:
    clock = track(0.0, 0.01, 0.02).clock()
    assert round(clock.drift_ppm, 6) == 10.0
    assert round(clock.drift_uncertainty_ppm, 6) == 1.0
    assert (clock.readings, clock.moved_s) == (3, 0.0)


def drifting(ppm: float, seconds: int) -> list[float]:
    """The offsets of a clock in milliseconds, at each second."""
    return [ppm * second / 1000 for second in range(seconds + 1)]


@pytest.mark.parametrize("ppm", [-50.0, 40.0, 50.0, 499.0])
def test_a_steady_drift_is_no_move(ppm: float) -> None:
    # Two crystals that are 50 ppm apart differ by 3 ms after a minute.
    assert moved_ms(*drifting(ppm, 60)) == 0.0


@given(st.lists(st.floats(-0.3, 0.3), min_size=61, max_size=61))
def test_errors_of_reading_are_no_move(errors: list[float]) -> None:
    offsets = [drift + error for drift, error in zip(drifting(50.0, 60), errors, strict=True)]
    assert moved_ms(*offsets, uncertainty_ns=301_000) == 0.0


def test_a_clock_that_was_set_has_moved() -> None:
    assert round(moved_ms(0.0, 40.0, 0.0), 3) == 39.998
    assert 4.5 < moved_ms(*[0.0] * 30, *[5.0] * 30) <= 5.0
    # There was no reading during the run.
    assert 4.4 < moved_ms(0.0, 5.0) <= 4.5


@pytest.mark.parametrize("place", [1, 10, 30, 59])
def test_a_jump_is_seen_in_a_clock_that_drifts(place: int) -> None:
    jumped = [
        offset + (5.0 if second >= place else 0.0)
        for second, offset in enumerate(drifting(50.0, 60))
    ]
    assert 1.0 < moved_ms(*jumped, uncertainty_ns=300_000) <= 5.0


def test_more_drift_than_any_clock_has_is_a_move() -> None:
    assert round(moved_ms(*drifting(2000.0, 10), uncertainty_ns=0), 3) == 15.0


def test_one_reading_knows_no_drift() -> None:
    clock = track(7.0).clock()
    assert (clock.offset_s, clock.drift_ppm, clock.readings) == (0.007, 0.0, 1)
