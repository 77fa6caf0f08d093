"""The steps of a capacity experiment's cell, on made-up servers."""

from collections import Counter
from dataclasses import replace

import pytest

from factories.capacity import FIFTHS, WINDOW, CapacityWorld, drive, log_mean, made_cell, made_plan
from factories.run import World, environment
from tlslab.analysis.capacity.capacity_cell import measure
from tlslab.domain.capacity import (
    GeneratorRules,
    Objective,
    Obsolete,
    Step,
    ValidationRules,
    WarmUpRules,
)
from tlslab.domain.plan import Plan
from tlslab.domain.run_faults import usable
from tlslab.domain.search import Converged, Inconclusive
from tlslab.experiment.capacity_planner import (
    left,
    load_runs,
    maximum_rates,
    next_step,
    progress_of,
    resumes_by,
)
from tlslab.experiment.cells import obsolete_cell


def test_stages_follow_one_another() -> None:
    world = CapacityWorld()
    drive(made_plan(remedies=True), world)
    stages = [step.stage for step in world.steps]
    assert list(dict.fromkeys(stages)) == ["search", "maximum", "open_loop", "remedy"]
    counts = Counter(stages)
    assert counts["maximum"] == 3
    assert counts["open_loop"] == 15
    assert counts["remedy"] == 18


def test_the_open_loop_runs_at_whole_fractions_of_the_maximum() -> None:
    world = CapacityWorld()
    trials = drive(made_plan(), world)
    maximum = log_mean(maximum_rates(trials))
    rates = {step.fraction: step.rate for step in world.steps if step.stage == "open_loop"}
    assert rates == {fraction: int(round(maximum * fraction, 6)) for fraction in FIFTHS}


def test_each_repetition_has_a_fresh_server_and_an_order_of_its_own() -> None:
    world = CapacityWorld()
    drive(made_plan(), world)
    visits = {(step.stage, step.repetition): step.visit for step in world.steps}
    assert visits["search", 0] == visits["maximum", 0] == 0
    assert [visits["maximum", n] for n in (1, 2)] == [1, 2]
    assert [visits["open_loop", n] for n in (0, 1, 2)] == [3, 4, 5]
    orders = [
        [step.fraction or 0 for step in world.steps if step.visit == visit] for visit in (3, 4, 5)
    ]
    assert all(sorted(order) == sorted(FIFTHS) for order in orders)
    assert len({tuple(order) for order in orders}) > 1


def test_one_server_for_all_but_for_what_it_must_serve() -> None:
    world = CapacityWorld()
    drive(made_plan(remedies=True, fresh_server=False), world)
    assert {step.visit for step in world.steps if step.serves == "none"} == {0}
    assert {step.visit for step in world.steps if step.serves == "psk"} == {1}


def test_a_wide_interval_asks_for_more_trials_up_to_the_cap() -> None:
    world = CapacityWorld(noise=0.08)
    plan = made_plan()
    plan = replace(plan, search=replace(plan.search, step=0.5))
    trials = drive(plan, world)
    assert 3 < len(maximum_rates(trials)) <= 6


def test_a_repetition_that_the_analysis_drops_counts_for_nothing() -> None:
    """One in a hundred connections failed: the level counts as tried, its rate does not."""
    trials = drive(made_plan(), CapacityWorld())
    number = next(i for i, trial in enumerate(trials) if "maximum" in trial.runs)
    run = trials[number].runs["maximum"]
    outcomes = run.record.outcomes
    failed = {"reset": outcomes.completed // 100}
    more = outcomes.attempts + failed["reset"]
    broken = replace(run.record, outcomes=replace(outcomes, attempts=more, failed=failed))
    faulty = replace(trials[number], runs={"maximum": replace(run, record=broken)})
    changed = [*trials[:number], faulty, *trials[number + 1 :]]
    assert not usable(faulty, "maximum")
    assert len(maximum_rates(changed)) == len(maximum_rates(trials)) - 1
    assert len(progress_of(made_plan(), changed).of("maximum")) == len(maximum_rates(trials))


def test_an_interrupted_cell_goes_on_where_it_was() -> None:
    plan = made_plan(remedies=True)
    whole, broken = CapacityWorld(), CapacityWorld()
    drive(plan, whole)
    trials = drive(plan, broken, stop_after=9)
    cell = made_cell()
    while (step := next_step(plan, cell, 1, trials, [])) is not None:
        trials.append(broken.trial(step, cell, len(trials)))
    assert [step.factors for step in broken.steps] == [step.factors for step in whole.steps]


def test_left_counts_down_to_nothing() -> None:
    plan, world, cell = made_plan(remedies=True), CapacityWorld(), made_cell()
    trials = drive(plan, world)
    counts = [left(plan, cell, 1, trials[:n])[0] for n in range(len(trials) + 1)]
    assert counts[-1] == 0
    assert counts == sorted(counts, reverse=True)
    assert counts[0] >= len(trials)
    assert left(plan, cell, 1, trials[:-1]) == (1, WINDOW.seconds)


def test_left_counts_the_warm_ups_of_servers_that_are_yet_to_be_started() -> None:
    plan = replace(made_plan(), warm_up=WarmUpRules(8, 10, WINDOW, steady=3))
    world, cell = CapacityWorld(), made_cell()
    trials = drive(plan, world)
    before = left(plan, cell, 1, [])
    without = left(made_plan(), cell, 1, [])
    # Three servers for the maximum, the first of them the search's, and three for the open loop.
    assert before[0] == without[0] + 6 * 10
    assert before[1] == pytest.approx(without[1] + 6 * 10 * WINDOW.seconds)
    first_open = next(n for n, trial in enumerate(trials) if trial.factors["visit"] == "3")
    later = [trial.factors["stage"] for trial in trials[first_open:]]
    assert left(plan, cell, 1, trials[:first_open])[0] == len(later)
    assert left(plan, cell, 1, trials) == (0, 0.0)


def test_a_server_that_dies_is_tried_again_and_then_given_up() -> None:
    def dies(step: Step) -> str:
        return "failed" if step.stage == "maximum" else "done"

    world = CapacityWorld(status=dies)
    trials = drive(made_plan(), world)
    assert sum(trial.status == "failed" for trial in trials) == 3
    assert next_step(made_plan(), made_cell(), 1, trials, []) is None
    assert left(made_plan(), made_cell(), 1, trials) == (0, 0.0)


@pytest.mark.parametrize("status", ["failed", "unsupported"])
def test_one_run_without_a_result_costs_one_run(status: str) -> None:
    def once(step: Step) -> str:
        return status if (step.repetition, step.fraction) == (1, 0.4) else "done"

    world = CapacityWorld(status=once)
    trials = drive(made_plan(), world)
    assert sum(trial.status == status for trial in trials) == 1
    assert len([step for step in world.steps if step.stage == "open_loop"]) == 15


def test_an_unsupported_cell_has_one_trial() -> None:
    trials = drive(made_plan(), CapacityWorld(status=lambda step: "unsupported"))
    assert len(trials) == 1


def test_an_inconclusive_search_ends_the_cell_without_a_level_and_goes_on_with_one() -> None:
    inconclusive = drive(made_plan(), CapacityWorld(fails_from=1))
    assert {trial.factors["stage"] for trial in inconclusive} == {"search"}
    bound = CapacityWorld(client_us=400.0)
    trials = drive(made_plan(), bound)
    assert len(maximum_rates(trials)) == 3
    assert not isinstance(progress_of(made_plan(), trials).search, Converged)


def test_a_fresh_server_is_warmed_up_until_its_rate_is_steady() -> None:
    plan = replace(made_plan(), warm_up=WarmUpRules(8, 10, WINDOW))
    world = CapacityWorld()
    drive(plan, world)
    by_visit = Counter(step.visit for step in world.steps if step.stage == "warm_up")
    assert by_visit == dict.fromkeys(range(6), 3)
    first = [step.stage for step in world.steps][:4]
    assert first == ["warm_up", "warm_up", "warm_up", "search"]


def test_a_warm_up_that_never_settles_has_an_end() -> None:
    plan = replace(made_plan(), warm_up=WarmUpRules(8, 5, WINDOW, width=0.0))
    world = CapacityWorld()
    drive(plan, world)
    assert Counter(s.visit for s in world.steps if s.stage == "warm_up")[0] == 5


@pytest.mark.parametrize(("processors", "runs"), [("1", 2), ("2", 0)])
def test_some_stages_are_for_some_cells(processors: str, runs: int) -> None:
    rules = ValidationRules((0.2, 0.4), WINDOW, {"processors": "1"})
    plan = replace(made_plan(), validation=rules)
    world = CapacityWorld()
    drive(plan, world, made_cell(server="nginx", processors=processors))
    found = [step for step in world.steps if step.stage == "validation"]
    assert len(found) == runs
    assert {step.arrivals for step in found} <= {"constant"}


def test_a_capture_that_fails_ends_no_other_stage() -> None:
    rules = ValidationRules((0.1, 0.2, 0.3, 0.4), WINDOW, delay_ms=20)
    plan = replace(made_plan(objective=Objective("p99", 50.0), within=4), validation=rules)
    world = CapacityWorld(status=lambda s: "failed" if s.stage == "validation" else "done")
    drive(plan, world, made_cell(server="nginx", processors="1"))
    found = Counter(step.stage for step in world.steps)
    assert found["validation"] == 4
    assert found["within"] > 0
    assert {s.factors["delay_ms"] for s in world.steps if s.stage == "validation"} == {"20"}


def test_nothing_obsolete_gets_remedies_or_a_capture() -> None:
    levels = {"server": "reference", "processors": "1", "tls": "ssl3"}
    plan = replace(made_plan(remedies=True), validation=ValidationRules((0.2,), WINDOW))
    world = CapacityWorld()
    drive(plan, world, obsolete_cell(Obsolete(levels)))
    assert {step.stage for step in world.steps} == {"search", "maximum", "open_loop"}


@pytest.mark.parametrize(
    ("tls", "asked", "found"),
    [("1.3", "psk", "psk"), ("1.2", "psk", "ticket"), ("1.3", "id", "psk"), ("1.2", "id", "id")],
)
def test_each_version_of_tls_resumes_in_its_own_way(tls: str, asked: str, found: str) -> None:
    assert resumes_by(asked, made_cell(tls=tls)) == found
    assert resumes_by(asked, made_cell(server="nginx")) == asked


def test_a_search_takes_more_generators_until_they_are_not_the_limit() -> None:
    # One generator makes 2,500 connections/s, and the server takes more than 3,000.
    world = CapacityWorld(client_us=400.0)
    trials = drive(replace(made_plan(), generators=GeneratorRules(1, 8)), world)
    used = [step.generators or 0 for step in world.steps if step.stage == "search"]
    assert used[0] == 1
    assert sorted(set(used)) == [1, 2]
    assert used == sorted(used), "never fewer again"
    assert {step.generators for step in world.steps if step.stage != "search"} == {2}
    state = progress_of(replace(made_plan(), generators=GeneratorRules(1, 8)), trials).search
    assert isinstance(state, Converged)
    assert state.peak.rate == pytest.approx(world.best, rel=0.05)


def test_a_search_that_has_all_generators_says_that_they_are_the_limit() -> None:
    world = CapacityWorld(client_us=4000.0)
    plan = replace(made_plan(), generators=GeneratorRules(1, 5))
    trials = drive(plan, world)
    used = [step.generators for step in world.steps if step.stage == "search"]
    assert list(dict.fromkeys(used)) == [1, 2, 4, 5]
    state = progress_of(plan, trials).search
    assert isinstance(state, Inconclusive)
    assert state.message == "5 generators were 99 % busy and set the rate"


def test_with_a_fixed_number_all_make_load_from_the_start() -> None:
    world = CapacityWorld()
    drive(replace(made_plan(), generators=GeneratorRules(3, 3)), world)
    assert {step.generators for step in world.steps} == {3}
    alone = CapacityWorld()
    drive(made_plan(), alone)
    assert {step.generators for step in alone.steps} == {None}
    assert "generators" not in alone.steps[0].factors


def test_a_search_step_that_has_lost_a_generator_is_made_again() -> None:
    lost: list[Step] = []

    def loses(step: Step) -> bool:
        is_lost = step.stage == "search" and step.connections == 8 and not lost
        lost.extend([step] if is_lost else [])
        return is_lost

    world = CapacityWorld(loses=loses)
    drive(replace(made_plan(), generators=GeneratorRules(2, 2)), world)
    whole = CapacityWorld()
    drive(replace(made_plan(), generators=GeneratorRules(2, 2)), whole)
    searched = [step.connections for step in world.steps if step.stage == "search"]
    assert searched[:3] == [4, 8, 8]
    assert searched[2:] == [s.connections for s in whole.steps if s.stage == "search"][1:]


SEARCHING = made_plan(objective=Objective("p99", 5.0), remedies=True, within=12)


def within(world: CapacityWorld) -> list[Step]:
    return [step for step in world.steps if step.stage == "within"]


def test_the_search_within_the_objective_comes_last_and_ends() -> None:
    world = CapacityWorld()
    trials = drive(SEARCHING, world)
    steps = within(world)
    assert world.steps[-len(steps) :] == steps
    assert 3 <= len(steps) <= 12
    most = Counter(step.fraction for step in steps).most_common(1)[0]
    assert most[1] == 2
    # The five loads of the open loop enclose it: 60 % met the objective, 80 % did not.
    assert all(0.56 < (step.fraction or 0) < 0.8 for step in steps)
    assert next_step(SEARCHING, made_cell(), 1, trials, []) is None
    assert left(SEARCHING, made_cell(), 1, trials) == (0, 0.0)


def test_no_load_runs_twice_on_one_server_or_with_equal_arrivals() -> None:
    world = CapacityWorld()
    drive(SEARCHING, world)
    steps = within(world)
    assert len({(step.visit, step.fraction) for step in steps}) == len(steps)
    assert len({(step.repetition, step.fraction) for step in steps}) == len(steps)
    earlier = {step.visit for step in world.steps if step.stage != "within"}
    assert earlier.isdisjoint(step.visit for step in steps)
    one = CapacityWorld()
    drive(replace(SEARCHING, fresh_server=False), one)
    assert {step.visit for step in within(one)} == {0}


def test_an_interrupted_search_within_the_objective_goes_on() -> None:
    whole, broken = CapacityWorld(), CapacityWorld()
    done = drive(SEARCHING, whole)
    trials = drive(SEARCHING, broken, stop_after=len(done) - 2)
    while (step := next_step(SEARCHING, made_cell(), 1, trials, [])) is not None:
        trials.append(broken.trial(step, made_cell(), len(trials)))
    assert [step.factors for step in broken.steps] == [step.factors for step in whole.steps]


def test_left_counts_the_search_within_the_objective_down() -> None:
    trials = drive(SEARCHING, CapacityWorld())
    counts = [left(SEARCHING, made_cell(), 1, trials[:n])[0] for n in range(len(trials) + 1)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] - left(replace(SEARCHING, within=None), made_cell(), 1, [])[0] == 12


def test_without_an_objective_or_its_stage_nothing_is_searched() -> None:
    for plan in (replace(SEARCHING, objective=None), replace(SEARCHING, within=None)):
        world = CapacityWorld()
        drive(plan, world)
        assert within(world) == []


@pytest.mark.parametrize("shared", [False, True])
def test_planning_and_analysis_judge_loads_alike(shared: bool) -> None:
    """Starts that are late by a third of the response times are the generator's, if it is alone."""
    world, where = CapacityWorld(late_ms=1.0), environment(World(), Plan(1, 1, (), (), ()))
    where = replace(where, generator_processors=where.target.processors if shared else (3,))
    trials = drive(SEARCHING, world, shared=shared)
    cell = measure(made_cell(), trials, SEARCHING, where)
    assert cell.shared is shared
    verdicts = {run.verdict for run in load_runs(progress_of(SEARCHING, trials, shared))}
    assert verdicts == {point.verdict for point in cell.loads}
    assert ("generator late" in verdicts) is not shared
