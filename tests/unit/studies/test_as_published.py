"""The experiments of the studies in the form in which they were published (the studies' texts)."""

import pytest

from tlslab.cli.run_options import Options
from tlslab.cli.running import asked, changed
from tlslab.domain.benchmark import settings_of
from tlslab.domain.capacity import plan_of
from tlslab.domain.errors import ExperimentError, UsageError
from tlslab.domain.experiment import Experiment
from tlslab.experiment import at_url, dumps, load, loads, make_cells, make_plan
from tlslab.lab.foresee import refuse_factors_of_own_servers
from tlslab.lab.request import Request
from tlslab.lab.specs import Aim, run_spec

STUDIES = ("groups", "servers", "offload", "suites", "runtimes", "concurrency", "capacity")


def published(name: str) -> Experiment:
    return load(name, "as_published")


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_can_be_run_as_published_and_its_folder_says_how(name: str) -> None:
    found = published(name)
    assert found != load(name)
    assert not found.quick
    assert loads(dumps(found), "folder") == found


def test_groups_has_the_connections_and_the_count_of_ab() -> None:
    found = published("groups")
    assert (found.levels("tls"), found.stopping) == (("1.2",), None)
    cell = make_cells(found, "nginx")[0][0]
    spec = run_spec(Aim("https://127.0.0.1:1/d"), cell.profile, found.workload, "capacity")
    assert (spec["connections"], spec["stop"]) == (1000, {"count": 25_000})
    # A given length is a length.
    shorter = changed(found, Options(seconds=2.0))
    spec = run_spec(Aim("https://127.0.0.1:1/d"), cell.profile, shorter.workload, "capacity")
    assert spec["stop"] == {"duration_ms": 2000}


def test_suites_has_all_nine_dhe_suites_with_each_size() -> None:
    found = published("suites")
    kept = found.workload.keep_alive
    assert kept is not None
    assert (kept.connections, kept.window.warmup_ms, kept.window.measure_ms) == (
        128,
        10_000,
        10_000,
    )
    cells, excluded = make_cells(found, "nginx")
    sized = {
        (c.factors["suite"], c.factors["dh_bits"]) for c in cells if "DHE" in c.factors["suite"]
    }
    sized = {pair for pair in sized if "_ECDHE_" not in pair[0]}
    generated = {pair for pair in sized if pair[1].endswith("-generated")}
    assert len({suite for suite, _ in sized}) == 9
    assert (len(sized - generated), len(generated)) == (36, 4)
    assert len({suite for suite, _ in generated}) == 1
    (reason,) = {each.reason for each in excluded}
    assert reason == "generated parameters are compared with one suite"
    assert [c.factors["http"] for c in cells if c.factors["tls"] == "none"] == ["2"]
    assert len(cells) == 36 + 4 + 20 + 1
    assert {c.factors["workers"] for c in cells} == {"6"}
    assert {c.deployment.levels.get("workers") for c in cells if c.deployment} == {"6"}


def test_at_a_url_nothing_is_planned_that_only_the_labs_servers_have() -> None:
    found = at_url(published("suites"))
    assert found.levels("workers") == ()
    assert found.levels("tls") == ("1.2",)
    refuse_factors_of_own_servers(found)


def test_capacity_has_three_runs_of_180_s_and_three_at_each_fifth() -> None:
    plan = plan_of(published("capacity"))
    assert (plan.maximum.trials, plan.maximum.window.measure_ms) == (3, 180_000)
    assert (len(plan.open_loop.fractions), plan.open_loop.trials) == (5, 3)


def test_concurrency_has_five_forks_of_five_and_five_iterations_of_10_s() -> None:
    found = published("concurrency")
    settings = settings_of(found)
    assert found.blocks == 5
    assert (settings.warmup_iterations, settings.iterations, settings.iteration_ms) == (
        5,
        5,
        10_000,
    )
    assert {"1", "8", "16", "24"} <= set(found.levels("threads"))


def test_blocks_may_be_given_and_a_time_is_that_of_a_sitting() -> None:
    found = changed(published("groups"), Options(as_published=True, blocks=2, budget="1h"))
    assert (found.blocks, found.stopping) == (2, None)
    assert len(make_plan(found, 1).trials) == 2 * 10
    assert Request(found, ("nginx",), ("tlslab",)).sitting_s is None


@pytest.mark.parametrize("name", ["stapling", "calibrate"])
def test_another_experiment_has_no_such_form(name: str) -> None:
    with pytest.raises(ExperimentError, match="which --as-published needs"):
        published(name)


def test_a_question_has_no_such_form() -> None:
    with pytest.raises(UsageError, match="--as-published is for the experiment of a study"):
        asked(Options(vary=["tls=1.2,1.3"], as_published=True))


def test_exclusions_of_the_form_replace_those_of_the_file() -> None:
    for form, levels in ((load("suites"), "[134]*"), (published("suites"), "*-generated")):
        assert {each.when["dh_bits"] for each in form.exclusions} == {levels}
