"""The effect of the options of `tlslab run` on an experiment, and the last lines of its output."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from factories.capacity import made_capacity_run
from factories.run import made_run
from factories.worded import summarise
from tlslab.cli import ending
from tlslab.cli.run_options import Options
from tlslab.cli.running import changed
from tlslab.cli.shared_words import duration
from tlslab.domain.capacity import CapacityPlan
from tlslab.domain.errors import ExperimentError, UsageError
from tlslab.domain.experiment import Experiment
from tlslab.domain.finding import Summary
from tlslab.domain.profile import Profile
from tlslab.experiment import dumps, file_kind, load, loads
from tlslab.lab.experiment_run import foresee, within
from tlslab.lab.request import Request
from tlslab.lab.specs import Aim, preflight_spec, run_spec
from tlslab.report.commands import folded
from tlslab.report.facts import redo_words


def with_options(name: str, changes: Options) -> Experiment:
    return changed(load(name, "quick"), changes)


def test_blocks_are_passes_over_all_cells() -> None:
    assert with_options("groups", Options(blocks=3)).blocks == 3
    plan = with_options("capacity", Options(blocks=9)).settings
    assert isinstance(plan, CapacityPlan)
    assert (plan.maximum.trials, plan.open_loop.trials) == (9, 9)
    assert plan.maximum.most >= 9
    assert dumps(loads(dumps(with_options("capacity", Options(blocks=9))), "x"))


FIXED = ("calibrate", "capacity", "runtimes", "concurrency")


@pytest.mark.parametrize("name", FIXED)
def test_an_end_by_the_answer_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(UsageError, match="--until is for experiments that compare") as refused:
        with_options(name, Options(until="2%"))
    assert file_kind(load(name)).why_fixed in refused.value.message


@pytest.mark.parametrize("name", ["calibrate", "capacity"])
def test_a_budget_is_as_many_blocks_as_fit(name: str) -> None:
    request = Request(with_options(name, Options(budget="1h")), ("reference",), ("tlslab",), seed=1)

    def seconds(blocks: int) -> float:
        kind = file_kind(request.experiment)
        return foresee(
            replace(request, experiment=kind.with_blocks(request.experiment, blocks))
        ).seconds

    three = within(request, seconds(3) + 0.1)
    assert foresee(three.request).seconds == pytest.approx(seconds(3))
    assert three.reservation.startswith("--budget: 3 blocks fit, and fewer than 5 carry no")
    assert "\n" not in three.reservation
    assert foresee(within(request, 1e6, 4).request).seconds == pytest.approx(seconds(4))
    assert within(request, seconds(5) + 0.1).reservation == ""
    with pytest.raises(UsageError, match="--budget: two blocks take about"):
        within(request, seconds(2) - 1)


def test_seconds_are_the_length_of_each_measurement_and_of_no_warm_up() -> None:
    before = load("suites", "quick").workload
    after = with_options("suites", Options(seconds=2.5)).workload
    assert before.keep_alive is not None
    assert after.keep_alive is not None
    assert after.capacity.measure_ms == after.client_cost.measure_ms == 2500
    assert after.keep_alive.window.measure_ms == 2500
    assert after.capacity.warmup_ms == before.capacity.warmup_ms
    plan = with_options("capacity", Options(seconds=2.5)).settings
    old = load("capacity", "quick").settings
    assert plan.maximum.window.measure_ms == plan.open_loop.window.measure_ms == 2500
    assert plan.search == old.search
    benchmark = with_options("concurrency", Options(seconds=2.0)).settings
    assert benchmark.iterations * benchmark.iteration_ms == 2000


@pytest.mark.parametrize(
    ("given", "status"), [("302", "302"), ("2XX, 401", "2xx,401"), ("any", "any")]
)
def test_an_expected_status_goes_to_file_and_engine(given: str, status: str) -> None:
    experiment = with_options("groups", Options(expect_status=given))
    assert experiment.workload.expect_status == status
    assert loads(dumps(experiment), "x").workload.expect_status == status
    aim = Aim("https://localhost/", expect_status=status)
    spec = run_spec(aim, Profile(), experiment.workload, "capacity")
    assert spec["http"]["expect_status"] == status
    assert preflight_spec(aim, Profile())["http"] == {"version": "1.1", "expect_status": status}
    assert "expect_status" not in preflight_spec(Aim("https://localhost/"), Profile())["http"]


@pytest.mark.parametrize("given", ["", "600", "3x2", "ok", "200;302", "20"])
def test_a_malformed_status_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="--expect-status"):
        with_options("groups", Options(expect_status=given))
    text = dumps(load("groups")).replace("[workload]", f'[workload]\nexpect_status = "{given}"')
    with pytest.raises(ExperimentError, match=r"expect_status|text in quotes"):
        loads(text, "x")


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (["valid"] * 20, "all 20 cells valid"),
        (["valid"], "the cell is valid"),
        (["valid"] * 17 + ["invalid"] * 3, "3 of 20 cells invalid, see above"),
        (["valid", "failed", "invalid"], "1 of 3 cells invalid, 1 without a result, see above"),
        (["valid", "unsupported"], "1 of 2 cells unsupported"),
        (["unsupported"] * 2, "2 of 2 cells unsupported, see above"),
        (["failed"], "the only cell without a result, see above"),
        ([], "no cell was measured"),
    ],
)
def test_the_last_line_says_why(verdicts: list[str], words: str) -> None:
    assert ending.reason(verdicts) == words


def test_the_command_to_make_it_again_names_no_folder_and_the_seed() -> None:
    summary = summarise(made_run(quick=True))
    typed = ("tlslab", "run", "groups", "--out", "r", "--quick", "--resume=x", "--set", "a=b c")
    again = redo_words(_typed(summary, typed))
    assert again == ["tlslab", "run", "groups", "--quick", "--set", "a=b c", "--seed", "1"]
    watched = ("tlslab", "run", "groups", "--live=127.0.0.1:0", "--metrics", ":1", "--quick")
    assert redo_words(_typed(summary, watched))[:4] == ["tlslab", "run", "groups", "--quick"]
    seeded = ("tlslab", "run", "groups", "--seed", "7")
    assert redo_words(_typed(summary, seeded)) == list(seeded)
    other = ("tlslab", "compare", "a", "b")
    assert redo_words(_typed(summarise(made_capacity_run()), other)) == list(other)


def _typed(summary: Summary, command: tuple[str, ...]) -> Summary:
    return replace(summary, environment=replace(summary.environment, command=command))


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_folded_command_is_one_command_for_a_shell(width: int) -> None:
    words = ["tlslab", "run", "groups", "--set", "group=X25519,P-256", "--configure", "ssh a 'b c'"]
    lines = folded(words, width)
    assert len(lines) > 1 or width == 80
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == words
    assert all(len(line) <= width for line in lines if width == 80)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(44, "44 s"), (65, "1 min 05 s"), (3600, "1 h 00 min"), (200_000, "2 days 8 h")],
)
def test_times_are_reported_in_the_units_that_people_use(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize("name", ["groups", "servers", "capacity", "concurrency", "suites"])
def test_a_plan_is_foreseen_without_a_server(name: str, tmp_path: Path) -> None:
    found = foresee(Request(load(name, "quick"), ("reference",), ("tlslab",), seed=3))
    assert found.plan.cells
    assert found.trials > 0
    assert found.seconds > 0
    assert foresee(Request(load(name, "quick"), ("reference",), (), seed=3)) == found


def test_a_preview_names_the_servers_that_only_a_run_can_ask() -> None:
    request = Request(load("groups", "quick"), ("https://localhost:8443/",), ("tlslab",))
    assert any("https://localhost:8443/" in words for words in foresee(request).unknown)
