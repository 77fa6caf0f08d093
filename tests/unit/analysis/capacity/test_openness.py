"""The causes that leave a maximum open, the words for them, and their effect on later runs."""

from dataclasses import replace

import pytest

from factories.capacity import CapacityWorld, Uneven, made_capacity_run, made_plan
from factories.capacity_summary import findings, highest, stated, statement
from tlslab.analysis.capacity import summarise
from tlslab.analysis.compare import Measured
from tlslab.analysis.gate import gate
from tlslab.analysis.history import Run, history
from tlslab.analysis.overlay import Side, overlay
from tlslab.domain.capacity import Objective, Step
from tlslab.domain.finding import CellSummary, Summary
from tlslab.domain.trial import TrialRun
from tlslab.words import worded

pytestmark = pytest.mark.slow

RATE = "connections_per_s"
COST = "server_cpu_us_per_connection"
FIVE = made_plan(repetitions=5)
IDLE = "neither the server nor the generator was busy all the time"


class IdleFirst(CapacityWorld):
    """In its first `idle` trials of the maximum the server is busy for 60 % of the time."""

    idle = 0

    def _run(self, step: Step) -> TrialRun:
        self.busy = 0.6 if step.stage == "maximum" and step.repetition < self.idle else 1.0
        return super()._run(step)


def idle_first(idle: int) -> CapacityWorld:
    world = IdleFirst(alone=1100.0)
    world.idle = idle
    return world


def two(nginx: CapacityWorld) -> Summary:
    worlds = {"nginx": nginx, "apache": CapacityWorld(alone=700.0, seed=3)}
    return summarise(made_capacity_run(worlds, FIVE))


def cell(summary: Summary, server: str = "nginx") -> CellSummary:
    return summary.cell(f"server={server},processors=1")


@pytest.mark.parametrize(("idle", "is_open"), [(0, False), (2, False), (3, True), (5, True)])
def test_a_rate_that_neither_side_limited_in_most_trials_is_open(idle: int, is_open: bool) -> None:
    found = cell(two(idle_first(idle)))
    assert (found.verdict, found.trials) == ("valid", 5)
    assert found.left_open.get(RATE) == (IDLE if is_open else None)
    assert (RATE in found.lower_bounds) is is_open


def test_findings_leave_it_open() -> None:
    summary = two(idle_first(5))
    first = highest(summary)
    assert (first["open"], first["bound"], first["rival"]["bound"]) == (True, False, True)
    assert [each.cells for each in findings(summary, "open")] == [(cell(summary).key,)]
    assert stated(summary, "platforms")[0]["bound"] == "at most"
    known = two(idle_first(0))
    assert (highest(known)["open"], highest(known)["rival"]["bound"]) == (False, False)
    assert findings(known, "open") == []


DISTURBED = CapacityWorld(alone=1100.0, busy=0.8, taken=0.2)


@pytest.mark.parametrize(
    "world", [Uneven(alone=1100.0), idle_first(5), DISTURBED], ids=["noise", "idle", "disturbed"]
)
def test_another_run_is_not_compared_with_it(world: CapacityWorld) -> None:
    known, other = two(CapacityWorld(alone=1100.0, seed=5)), two(world)
    assert RATE in cell(other).left_open
    assert not Measured(cell(other), {RATE: {0: 1.0}}).may_rank(RATE)
    for sides in ((known, other), (other, known)):
        found = overlay(Side("A", sides[0]), Side("B", sides[1])).comparisons
        (nginx,) = [c for c in found if c.estimate == RATE and "nginx" in c.baseline]
        assert nginx.verdict == "not_comparable"
        judged = gate(found, 0.5, (RATE,))
        assert (judged.verdict, len(judged.ratios)) == ("cannot_tell", 1)
    assert gate(overlay(Side("a", known), Side("b", known)).comparisons, 0.5).verdict == "passed"


@pytest.mark.parametrize("world", [Uneven(alone=1100.0), idle_first(5)], ids=["noise", "idle"])
def test_a_history_leaves_its_rate_out(world: CapacityWorld) -> None:
    runs = [Run("known", two(CapacityWorld(alone=1100.0, seed=5))), Run("open", two(world))]
    names = {
        each.estimate: each.runs
        for each in history(runs).cells
        if each.cell == "server=nginx,processors=1"
    }
    at_loads = {name: runs for name, runs in names.items() if "_at_" in name}
    assert set(at_loads.values()) == {("known",)}
    rest = {name: runs for name, runs in names.items() if name not in at_loads}
    assert (rest[RATE], rest[COST]) == (("known",), ("known", "open"))


def dead(step: Step) -> str:
    return "failed"


def statements(summary: Summary) -> list[str]:
    assert summary.answer is not None
    return [each.code for each in summary.answer.statements]


def test_the_answer_names_cells_without_a_valid_maximum() -> None:
    worlds = {"nginx": CapacityWorld(alone=1100.0), "caddy": CapacityWorld(status=dead)}
    plan = made_plan(repetitions=5, objective=Objective("p99", 5.0))
    summary = summarise(made_capacity_run(worlds, plan))
    assert statements(summary) == ["highest_rate", "no_valid_maximum"]
    missing = statement(summary, "no_valid_maximum")
    assert (missing["cell"], missing["others"]) == ("server=caddy,processors=1", 0)
    assert missing["why"].message == "the server died"
    worlds["haproxy"] = CapacityWorld(status=dead)
    summary = summarise(made_capacity_run(worlds, plan))
    assert statement(summary, "no_valid_maximum")["others"] == 1


def test_settings_that_a_server_does_not_support_are_not_missing() -> None:
    worlds = {
        "nginx": CapacityWorld(alone=1100.0),
        "caddy": CapacityWorld(status=lambda step: "unsupported"),
    }
    assert statements(summarise(made_capacity_run(worlds, FIVE))) == ["highest_rate"]


def test_a_long_reason_is_shortened() -> None:
    worlds = {"nginx": CapacityWorld(alone=1100.0), "caddy": CapacityWorld(status=dead)}
    contents = made_capacity_run(worlds, FIVE)
    trials = tuple(
        t if t.reason is None else replace(t, reason=replace(t.reason, message="no port " * 40))
        for t in contents.trials
    )
    answer = worded(summarise(replace(contents, trials=trials))).answer
    assert answer is not None
    assert answer.sentences[1].endswith(" ...).")
    assert len(answer.sentences[1]) < 120


def test_the_headline_of_many_cells_is_short() -> None:
    """Servers on two processors share the second one with the generator."""
    names = ("nginx", "apache", "reference")
    worlds = {
        f"{name} {processors}": CapacityWorld(alone=alone * processors, seed=seed + processors)
        for seed, (name, alone) in enumerate(zip(names, (800.0, 600.0, 1000.0), strict=True))
        for processors in (1, 2)
    }
    plan = made_plan(repetitions=5, objective=Objective("p99", 5.0))
    contents = made_capacity_run(worlds, plan)
    shared = replace(contents.environment, generator_processors=(1,))
    summary = worded(summarise(replace(contents, environment=shared)))
    first = highest(summary)
    assert (first["cell"], first["bound"]) == ("server=reference,processors=2", True)
    assert first["rival"]["cell"] == "server=reference,processors=1"
    assert len(first["others"]) == 2
    assert statement(summary, "meets_objective")["cell"] == first["cell"]
    assert summary.answer is not None
    assert all(len(each.split()) <= 30 for each in summary.answer.sentences)
    (open_,) = findings(summary, "open")
    assert len(open_.cells) == 3
