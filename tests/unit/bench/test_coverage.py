"""A quick form of `make bench-coverage`: wide bars, and the truths of the simulated servers."""

from dataclasses import replace

import numpy as np
import pytest

from bench.coverage import Result, Row, page, rows, run
from bench.queues import MD1, MG2, MM1, Kind, response_times
from tlslab.analysis.stats.queue import mean_response

# What is not known to be below the bar.
QUICK = [
    row
    for row in rows()
    if row.short is None
    and row.estimator.startswith(("mean of 5", "ratio", "p50", "p99, 10", "maximum"))
]


@pytest.mark.parametrize("row", QUICK, ids=lambda row: f"{row.estimator}; {row.truth}")
def test_intervals_hold_what_is_true(row: Row) -> None:
    found = run(row, round(200 / max(row.share, 0.5)))
    assert found.runs >= 90
    assert found.coverage >= 0.86


@pytest.mark.parametrize(("kind", "load"), [(MM1, 0.5), (MD1, 0.8)], ids=str)
def test_the_truths_are_those_of_the_simulated_servers(kind: Kind, load: float) -> None:
    times = response_times(kind, load, 100, 5_000, np.random.default_rng(3))
    assert times.mean() == pytest.approx(kind.mean(load), rel=0.03)
    assert np.quantile(times, 0.9) == pytest.approx(kind.quantile(load, 0.9), rel=0.03)


def test_two_servers_of_one_line_are_those_of_erlang() -> None:
    two = Kind("M/M/2", "exponential", 2)
    times = response_times(two, 0.5, 200, 2_000, np.random.default_rng(3))
    assert times.mean() == pytest.approx(mean_response(2, 1.0, 1.0), rel=0.03)
    assert MG2.mean(0.5) > 1


def test_the_page_has_a_line_for_each_row() -> None:
    results = [run(row, 20) for row in QUICK[:3]]
    text = page(results)
    assert all(f"| {each.row.estimator} | {each.row.truth} |" in text for each in results)


def test_a_row_that_is_declared_to_fall_short_has_a_bar_of_its_own() -> None:
    row = next(row for row in rows() if row.short is not None)
    assert row.short is not None
    assert row.short.reason
    runs = 2_000
    known = Result(row, runs, round(runs * (row.short.least + 0.01)))
    assert (known.met, known.verdict) == (True, "below the bar, as declared")
    assert row.short.reason in page([known])
    worse = Result(row, runs, round(runs * (row.short.least - 0.03)))
    assert (worse.met, worse.verdict) == (False, "below the bar")
    other = Result(replace(row, short=None), runs, known.held)
    assert (other.met, other.verdict) == (False, "below the bar")


def test_skewed_and_dependent_trials_are_declared_to_fall_short() -> None:
    declared = {row.truth for row in rows() if row.short is not None}
    assert {"skewed (exponential)", "AR(1), 0.3 from trial to trial"} <= declared
    estimators = {row.estimator for row in rows()}
    assert {"memory of a connection, 5 levels", "peak over the processors' limit, 5 blocks"} <= (
        estimators
    )
