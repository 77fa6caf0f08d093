"""Consecutive runs form one series, which never decreases."""

from factories.live import pace, totals
from tlslab.domain.events import EngineEnded
from tlslab.domain.totals import Totals
from tlslab.report.live.hosts import Series


def counted(series: Series) -> tuple[int, int, int]:
    found = series.totals
    assert found is not None
    failed = sum(found.failed.values())
    assert found.arrivals == found.completed + failed + found.unexpected + found.in_flight
    return found.completed, failed, found.in_flight


def test_a_run_that_is_over_has_its_final_totals_and_nothing_in_flight() -> None:
    series = Series()
    assert series.totals is None
    series.follow(pace(1.0, totals(100, 1, 8)))
    assert counted(series) == (100, 1, 8)
    # Connections in flight at the end stay among the arrivals, and are no longer in flight.
    series.end(EngineEnded("", totals(150, 2, 3)))
    found = series.totals
    assert found is not None
    assert (found.arrivals, found.completed, found.in_flight) == (155, 150, 0)


def test_the_next_run_is_added() -> None:
    series = Series()
    for run in range(3):
        series.follow(pace(1.0, totals(100)))
        series.follow(pace(2.0, totals(200, 3)))
        series.end(EngineEnded("", totals(250, 4)))
        found = series.totals
        assert found is not None
        assert (found.completed, found.failed) == (250 * (run + 1), {"reset": 4 * (run + 1)})
        assert found.service.count == found.completed
        assert found.due == found.arrivals


def test_a_run_that_ended_without_a_word_counts_as_far_as_it_is_known() -> None:
    series = Series()
    series.follow(pace(1.0, totals(100)))
    series.follow(pace(2.0, totals(200)))
    series.follow(pace(1.0, totals(70, open_loop=False)))
    assert counted(series)[0] == 270
    series.fold()
    series.fold()
    assert counted(series)[0] == 270


def test_every_count_grows_from_update_to_update() -> None:
    series = Series()
    before: Totals | None = None
    for run in range(2):
        for second in range(1, 4):
            series.follow(pace(float(second), totals(second * 10, second, 2)))
            found = series.totals
            assert found is not None
            if before is not None:
                assert found.arrivals >= before.arrivals, run
                assert found.completed >= before.completed
                grown = zip(before.service.counts, found.service.counts, strict=True)
                assert all(earlier <= later for earlier, later in grown)
            before = found
        series.end(EngineEnded("", None))
