"""The judgement of loads, and the search for the highest that meets an objective."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.capacity import CapacityWorld, made_cell
from tlslab.contract.record import RunRecord, Verdict
from tlslab.domain.capacity import CONFIRMING, Objective, Step
from tlslab.domain.distribution import Distribution
from tlslab.domain.loads import (
    FIRST,
    FRACTIONS,
    STEP,
    Bracket,
    Load,
    LoadRun,
    LoadVerdict,
    bracket,
    load_verdict,
    loads_of,
    long_enough_s,
    next_fraction,
    run_window,
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
    assert run_window(objective, 3000, WINDOW).measure_ms == 50_000


def test_a_run_is_as_long_as_the_objective_and_the_rate_ask_for() -> None:
    assert run_window(P99, 3000, WINDOW) == Window(500, 3000)
    assert run_window(Objective("p99", 1000.0), 3000, WINDOW).measure_ms == 10_000
    # 8,000 values at 500/s.
    assert run_window(P99, 500, WINDOW).measure_ms == 16_000
    assert run_window(P99, 1, WINDOW).measure_ms == 20_000
    assert run_window(Objective("mean", 50.0), 100, WINDOW).measure_ms == 3_000


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


def load(fraction: float, outcome: str, runs: int = 1) -> Load:
    return Load(fraction, 1000 * fraction, runs, 1.0, outcome)  # type: ignore[arg-type]


def searched(limit: float, left: int = 12, *before: Load) -> tuple[list[Load], int]:
    """The loads of a search on a server that meets the objective up to this fraction."""
    found = {each.fraction: each for each in before}
    made = 0
    while (fraction := next_fraction(list(found.values()), left - made)) is not None:
        made += 1
        runs = found[fraction].runs + 1 if fraction in found else 1
        found[fraction] = load(fraction, "met" if fraction <= limit else "missed", runs)
    return list(found.values()), made


@pytest.mark.parametrize("limit", [0.06, 0.3, 0.62, 0.8, 0.9, 0.95, 1.0, 1.04, 1.2])
def test_a_search_ends_within_a_step_and_has_confirmed_it(limit: float) -> None:
    loads, made = searched(limit, 20)
    found = bracket(loads)
    assert found.best is not None
    assert found.own is not None
    assert found.missed is not None
    assert found.best.fraction <= limit < found.missed.fraction
    assert found.missed.fraction == pytest.approx(found.best.fraction * STEP, rel=0.02)
    assert found.best.fraction == pytest.approx(found.own.fraction * STEP, rel=0.02)
    assert found.best.runs == CONFIRMING
    assert made <= 13


def test_near_the_maximum_few_runs_are_enough() -> None:
    assert max(searched(limit, 20)[1] for limit in (0.83, 0.88, 0.93, 0.97)) <= 6


def test_known_loads_enclose_the_search() -> None:
    found, made = searched(0.7, 20, load(0.6, "met", 5), load(0.8, "missed", 5))
    assert made <= 6
    assert all(0.6 <= each.fraction <= 0.8 for each in found)


def test_the_last_runs_confirm_a_wide_answer() -> None:
    loads, made = searched(0.3, 7)
    found = bracket(loads)
    assert made == 7
    assert found.best is not None
    assert found.missed is not None
    assert found.own is not None
    assert found.best.runs == CONFIRMING
    assert found.missed.fraction > 1.2 * found.best.fraction


def test_a_load_that_misses_when_it_is_confirmed_is_given_up() -> None:
    loads = [load(0.907, "missed", 2), load(0.952, "missed"), load(0.823, "met")]
    assert next_fraction(loads, 5) == 0.864
    assert next_fraction([*loads, load(0.864, "missed")], 4) == 0.823
    assert next_fraction([*loads[:2], load(0.864, "missed"), load(0.823, "met", 2)], 3) == 0.784


def test_a_late_generator_ends_the_search_upwards_and_is_no_miss() -> None:
    loads = [load(0.864, "met"), load(FIRST, "met", 2), load(0.952, "late")]
    assert next_fraction(loads, 5) is None
    assert bracket(loads) == Bracket(loads[1], loads[0], None)


def test_a_load_above_a_late_one_is_no_answer() -> None:
    loads = [load(0.4, "met"), load(0.6, "late"), load(0.8, "met", 2), load(0.9, "missed")]
    assert bracket(loads) == Bracket(loads[0], None, loads[3])
    # The search goes on below the late load, too.
    fraction = next_fraction(loads, 9)
    assert fraction is not None
    assert 0.4 < fraction < 0.6


def test_short_runs_are_no_reason_to_stop() -> None:
    assert next_fraction([load(0.2, "short"), load(1.0, "short")], 9) == FIRST
    assert next_fraction([load(0.2, "met"), load(0.4, "met")], 9) == FIRST


def test_a_load_above_one_that_missed_is_no_answer() -> None:
    loads = [load(0.4, "met", 5), load(0.6, "missed", 5), load(0.8, "met", 5)]
    assert bracket(loads) == Bracket(loads[0], None, loads[1])


OUTCOMES = st.sampled_from(["met", "missed", "late", "short"])


@given(st.dictionaries(st.sampled_from(FRACTIONS), OUTCOMES, max_size=8), st.integers(1, 9))
def test_no_answer_is_above_a_load_that_missed_or_was_late(
    tried: dict[float, str], left: int
) -> None:
    loads = [load(fraction, outcome) for fraction, outcome in tried.items()]
    found = bracket(loads)
    barred = [each.offered for each in loads if each.outcome in ("missed", "late")]
    missed = min(barred, default=np.inf)
    assert found.best is None or found.best.offered < missed
    assert found.own is None or found.own.offered < missed / STEP
    fraction = next_fraction(loads, left)
    assert fraction is None or 1000 * fraction < missed


def test_the_loads_are_a_step_apart() -> None:
    ratios = [high / low for high, low in pairwise(FRACTIONS)]
    assert all(ratio == pytest.approx(STEP, rel=0.02) for ratio in ratios)
    assert len(set(FRACTIONS)) == len(FRACTIONS)
