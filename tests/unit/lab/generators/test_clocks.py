"""Clocks by round trips: the offset is in its interval, whatever the path does."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from factories.hosts import FakeHost
from tlslab.lab.generators.clocks import ClockTrack, Reading, read_clock

MS = 1_000_000


class Path:
    """A path to a host: each round trip takes as long as it is told to, there and back."""

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
        Reading(second * 10**9, round(offset * MS), uncertainty_ns)
        for second, offset in enumerate(offsets_ms)
    ]
    found = ClockTrack(readings[0])
    for reading in readings[1:]:
        found.add(reading)
    return found


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
    assert track(250.0, 251.0).there(5 * MS) == 256 * MS


def test_drift_is_known_as_well_as_its_ends_are() -> None:
    clock = track(0.0, 0.01, 0.02).clock()
    assert round(clock.drift_ppm, 6) == 10.0
    assert round(clock.drift_uncertainty_ppm, 6) == 1.0
    assert (clock.readings, clock.moved_s) == (3, 0.02e-3 - 2e-6)


def test_a_clock_has_moved_by_what_no_error_explains() -> None:
    moved: Callable[..., float] = lambda *offsets, **more: track(*offsets, **more).clock().moved_s  # noqa: E731
    assert moved(5.0, 5.0, 5.0) == 0.0
    assert moved(0.0, 0.5, uncertainty_ns=300_000) == 0.0
    # In the middle, and back again.
    assert round(moved(0.0, 40.0, 0.0) * 1e3, 3) == 39.998


def test_one_reading_knows_no_drift() -> None:
    clock = track(7.0).clock()
    assert (clock.offset_s, clock.drift_ppm, clock.readings) == (0.007, 0.0, 1)
