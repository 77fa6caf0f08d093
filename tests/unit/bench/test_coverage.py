"""A quick form of `make bench-coverage`, the servers' true values, and the kept page."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import tlslab
from bench.coverage import FILE, FIRST, PAGE, Result, page, read, run
from bench.coverage_rows import Row, rows
from bench.provenance import ROOT, Made
from bench.queues import MD1, MG2, MM1, Kind, response_times
from tlslab.analysis.stats.queue import mean_response

ROWS = list(rows())

# With this number of simulations each row is quick.
QUICK = [
    row
    for row in ROWS
    if row.short is None
    and row.estimator.startswith(
        (
            "mean of",
            "share",
            "ratio",
            "gate",
            "proof",
            "all ranks of 6 cells, 5",
            "cost",
            "part",
            "p50",
            "maximum",
            "load within p99",
        )
    )
]
SIMULATIONS = 200

# Of 200 intervals of 95 %, fewer than this contain the true value in two cases of 1,000.
LEAST = 0.95 - 2.9 * math.sqrt(0.95 * 0.05 / SIMULATIONS)

MADE = Made("2026-11-26T01:30:00+00:00", "0123456789", "python -m bench.coverage")

# A module that computes a quantile of a distribution makes an interval, a bound or a test.
QUANTILE = re.compile(
    r"\.ppf\(|stdtrit|ndtri\b|confidence_interval|proportion_ci|stats\.bootstrap|brentq"
)

# The first words of the rows that check a module's intervals.
JUDGED = {
    "analysis/components.py": ("variance of a trial", "variance of a start"),
    "analysis/history/run_history.py": ("change of level",),
    "analysis/stats/estimate.py": ("mean of", "ratio", "proof", "gate"),
    "analysis/stats/latency.py": ("p50", "p99"),
    "analysis/stats/share.py": ("share of",),
    "analysis/stats/scaling.py": ("scalability law", "peak over"),
    "analysis/stats/machines.py": ("ratio, 10 blocks of several machines",),
    "analysis/stats/sequence.py": ("confidence sequence", "ratio, run until"),
    "analysis/stats/slope.py": ("memory of a connection, 3", "memory of a connection, 5"),
    "lab/resolution.py": ("resolution",),
    "domain/two_stage.py": ("maximum by Stein",),
}

# Modules that compute a quantile but make no interval: tests, powers, and a queue's highest load.
NO_INTERVAL = {
    # Takes a confidence sequence, which has rows, back to its error.
    "analysis/overlay/one_run.py",
    "analysis/stats/change_points.py",
    "analysis/stats/power.py",
    "analysis/stats/queue.py",
}


@pytest.mark.simulation
@pytest.mark.parametrize("row", QUICK, ids=lambda row: f"{row.estimator}; {row.truth}")
def test_intervals_hold_what_is_true(row: Row) -> None:
    found = run(row, SIMULATIONS)
    # Eight runs do not confirm each load within an objective.
    answered = 0.7 if row.estimator.startswith("load within") else 1.0
    assert found.runs >= answered * SIMULATIONS
    assert found.coverage >= LEAST


@pytest.mark.simulation
@pytest.mark.parametrize(("kind", "load"), [(MM1, 0.5), (MD1, 0.8)], ids=str)
def test_the_truths_are_those_of_the_simulated_servers(kind: Kind, load: float) -> None:
    times = response_times(kind, load, 100, 5_000, np.random.default_rng(3))
    assert times.mean() == pytest.approx(kind.mean(load), rel=0.03)
    assert np.quantile(times, 0.9) == pytest.approx(kind.quantile(load, 0.9), rel=0.03)


@pytest.mark.simulation
def test_two_servers_of_one_line_are_those_of_erlang() -> None:
    two = Kind("M/M/2", "exponential", 2)
    times = response_times(two, 0.5, 200, 2_000, np.random.default_rng(3))
    assert times.mean() == pytest.approx(mean_response(2, 1.0, 1.0), rel=0.03)
    assert MG2.mean(0.5) > 1


def test_the_page_has_a_line_for_each_row_and_says_what_it_is_of() -> None:
    results = [run(row, 20) for row in QUICK[:3]]
    text = page(results, MADE)
    assert all(f"| {each.row.estimator} | {each.row.truth} |" in text for each in results)
    assert "Made 2026-11-26, commit 0123456789: `python -m bench.coverage`." in text


def test_a_row_that_is_declared_to_fall_short_has_a_bar_of_its_own() -> None:
    row = next(row for row in ROWS if row.short is not None)
    assert row.short is not None
    assert row.short.reason
    runs = 2_000
    known = Result(row, runs, round(runs * (row.short.least + 0.01)))
    assert (known.met, known.verdict) == (True, "below the bar, as declared")
    assert row.short.reason in page([known], MADE)
    worse = Result(row, runs, round(runs * (row.short.least - 0.03)))
    assert (worse.met, worse.verdict) == (False, "below the bar")
    other = Result(replace(row, short=None), runs, known.held)
    assert (other.met, other.verdict) == (False, "below the bar")


def test_skewed_and_dependent_trials_are_declared_to_fall_short() -> None:
    declared = {row.truth for row in ROWS if row.short is not None}
    assert {"skewed (exponential)", "AR(1), 0.3 from trial to trial"} <= declared


def test_every_module_that_makes_an_interval_has_rows_that_judge_it() -> None:
    package = ROOT / "python" / tlslab.__name__
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if QUANTILE.search(path.read_text("utf-8"))
    }
    assert found == set(JUDGED) | NO_INTERVAL
    for module, starts in JUDGED.items():
        for start in starts:
            assert any(row.estimator.startswith(start) for row in ROWS), (module, start)


def test_the_kept_results_are_of_todays_rows_and_none_misses_its_bar() -> None:
    by, kept = read(FILE)
    assert [(each.row.estimator, each.row.truth) for each in kept] == [
        (row.estimator, row.truth) for row in ROWS
    ]
    for each in kept:
        assert each.runs + each.none >= 2_000
        assert each.met, each
    assert PAGE.read_text("utf-8") == page(kept, by)
    assert re.fullmatch(r"[0-9a-f]{10,}", by.commit)


@pytest.mark.simulation
@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda number: ROWS[number].estimator)
def test_the_kept_results_are_of_todays_code(number: int) -> None:
    """The first simulations of each row are those of the page; if not: `make bench-coverage`."""
    kept = read(FILE)[1][number]
    assert run(list(rows())[number], FIRST).first == kept.first
