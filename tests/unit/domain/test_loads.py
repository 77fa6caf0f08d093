"""The judgement of loads, and the search for the highest that meets an objective."""

from dataclasses import replace

import numpy as np
import pytest

from factories.capacity import CapacityWorld, made_cell
from tlslab.contract.record import RunRecord, Verdict
from tlslab.domain.capacity import Objective, Step
from tlslab.domain.distribution import Distribution
from tlslab.domain.loads import (
    Load,
    LoadRun,
    LoadVerdict,
    load_verdict,
    loads_of,
    long_enough_s,
)
from tlslab.domain.run_record import is_balanced
from tlslab.domain.workload import Window

P99 = Objective("p99", 50.0)
WINDOW = Window(300, 3000)


def times(most: float, late: int = 0, n: int = 4000) -> Distribution:
    """N response times of 1 ms, of which `late` take `most` ms."""
    return Distribution(np.array([1.0, most]), np.array([n - late, late]))


def run(
    response: Distribution,
    verdict: LoadVerdict = "kept up",
    fraction: float = 0.8,
    seconds: float = 3.0,
) -> LoadRun:
    return LoadRun(fraction, 1000 * fraction, seconds, response, verdict, verdict == "kept up")


def one(*runs: LoadRun) -> Load:
    (found,) = loads_of(runs, P99)
    return found


def test_a_load_is_judged_by_all_its_runs_together() -> None:
    assert one(run(times(60.0, 20))).outcome == "met"
    assert one(run(times(60.0, 60))).outcome == "missed"
    pooled = one(run(times(60.0, 120)), *[run(times(60.0, 10))] * 2)
    assert (pooled.outcome, pooled.time_ms, pooled.runs) == ("missed", 60.0, 3)


def test_a_run_that_misses_the_objective_by_itself_decides_for_its_load() -> None:
    """1.5 % of one run is 0.5 % of three."""
    rest = [run(times(60.0, 0))] * 2
    found = one(run(times(60.0, 60)), *rest)
    assert (found.outcome, found.time_ms) == ("missed", 60.0)
    # With fewer than 800 values nothing is said of a p99.
    assert one(run(times(60.0, 12, n=799)), *rest).outcome == "met"


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        (run(times(1.0), "overloaded"), "missed"),
        (run(times(1.0), "generator late"), "late"),
        (run(times(1.0), "invalid"), "late"),
        (run(times(1.0), seconds=2.9), "short"),
        (run(Distribution.merge([])), "met"),
    ],
)
def test_one_run_may_decide_for_a_load(last: LoadRun, outcome: str) -> None:
    assert one(*[run(times(1.0))] * 4, last).outcome == outcome


@pytest.mark.parametrize(
    ("in_full", "most", "outcome"),
    [(True, 49.0, "met"), (True, 51.0, "late"), (False, 1.0, "late")],
)
def test_late_starts_make_times_longer_so_that_an_objective_is_met_in_spite_of_them(
    in_full: bool, most: float, outcome: str
) -> None:
    late = replace(run(times(most, 60), "generator late"), in_full=in_full)
    assert one(run(times(1.0)), late).outcome == outcome
    assert one(replace(run(times(1.0), "invalid"), in_full=True)).outcome == "late"


def test_few_values_or_short_runs_do_not_show_that_an_objective_is_met() -> None:
    assert one(run(times(60.0, 0, n=799))).outcome == "short"
    assert one(run(times(60.0, 0), seconds=2.9)).outcome == "short"
    assert one(run(times(60.0, 60), seconds=2.9)).outcome == "missed"
    assert long_enough_s(P99) == 3.0


@pytest.mark.parametrize(("seconds", "outcome"), [(20.0, "short"), (49.0, "short"), (50.0, "met")])
def test_a_run_of_a_long_objective_has_ten_times_its_limit(seconds: float, outcome: str) -> None:
    """A queue that grows by 5 % of the time is 1 s long after 20 s, and 2.5 s after 50."""
    objective = Objective("p99", 5000.0)
    (found,) = loads_of([run(times(1.0), seconds=seconds)], objective)
    assert found.outcome == outcome


def loop(offered: int, completed: int, concurrency: float, waiting: int = 0) -> RunRecord:
    """The record of an open loop of one second on a processor of its own."""
    step = Step("open_loop", 0, 0, 200, Window(0, 1000), rate=offered, fraction=1.0)
    record = CapacityWorld(client_us=10.0).trial(step, made_cell(), 0).runs["load"].record
    assert record.open_loop is not None
    unended = offered - completed
    outcomes = replace(
        record.outcomes,
        attempts=completed + unended,
        completed=completed,
        in_flight_at_stop=unended,
    )
    return replace(
        record,
        outcomes=outcomes,
        verdicts=(),
        concurrency=concurrency,
        open_loop=replace(
            record.open_loop,
            arrivals=offered,
            started=offered - waiting,
            waiting_at_stop=waiting,
            achieved_per_s=float(offered),
        ),
    )


@pytest.mark.parametrize(
    ("completed", "concurrency", "verdict"),
    [
        # All were started, and 83 % completed, after a warm-up that had already made a queue.
        (3142, 700.0, "overloaded"),
        (3580, 700.0, "overloaded"),
        (3700, 60.0, "overloaded"),
        (3700, 90.0, "kept up"),
        (3760, 3.0, "kept up"),
    ],
)
def test_an_open_loop_must_complete_its_offered_load(
    completed: int, concurrency: float, verdict: str
) -> None:
    record = loop(3775, completed, concurrency)
    assert record.open_loop is not None
    assert is_balanced(record.outcomes)
    assert load_verdict(record, record.open_loop, 3775.0, shared=False) == verdict


def test_a_load_whose_users_give_up_was_not_carried() -> None:
    record = loop(3775, 3700, 90.0)
    assert record.open_loop is not None
    for abandoned, verdict in ((3, "kept up"), (4, "overloaded")):
        left = 75 - abandoned
        outcomes = replace(record.outcomes, in_flight_at_stop=left, abandoned=abandoned)
        found = replace(record, outcomes=outcomes)
        assert is_balanced(outcomes)
        assert load_verdict(found, record.open_loop, 3775.0, shared=False) == verdict


def test_a_queue_of_before_the_measurement_hides_no_growth() -> None:
    """A queue that grows by 100/s in 1 s before a measurement of 5 s, and in it: 100 to 600."""
    record = loop(20_000, 19_500, 350.0)
    assert record.open_loop is not None
    assert load_verdict(record, record.open_loop, 20_000.0, shared=False) == "overloaded"


@pytest.mark.parametrize("shared", [True, False])
def test_a_server_that_stops_answering_did_not_keep_up(shared: bool) -> None:
    record = loop(3775, 3775, 3.0)
    assert record.open_loop is not None
    assert load_verdict(record, record.open_loop, 3775.0, shared) == "kept up"
    stalled = replace(record, verdicts=(Verdict("stalled", "4 of 5 connections"),))
    assert load_verdict(stalled, record.open_loop, 3775.0, shared) == "overloaded"
