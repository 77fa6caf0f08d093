"""The conductor: the runs, their order, their servers, and the results that it keeps."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from factories.conductor import ANSWERS, EXPERIMENT, OTHER, TWO, Lab, Script
from tlslab.domain import events
from tlslab.domain.deployment import Deployment
from tlslab.domain.plan import PlannedTrial
from tlslab.domain.stopping import Forecast
from tlslab.domain.trial import Trial
from tlslab.experiment import make_plan
from tlslab.lab.deployments import Prepared
from tlslab.lab.matrix.run_in_blocks import warm_up_seconds
from tlslab.lab.placement import Placement
from tlslab.lab.specs import Aim


def test_all_trials_are_run_in_order_with_a_fresh_server_each_block(
    tmp_path: Path, script: Script
) -> None:
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"))
    lab.carry_out()
    trials = lab.folder.trials()
    assert [(t.trial, t.cell) for t in trials] == [(p.trial, p.cell) for p in lab.plan.trials]
    assert {trial.status for trial in trials} == {"done"}
    assert all(set(trial.runs) == {"capacity", "client_cost"} for trial in trials)
    assert len({server.pid for server in lab.servers}) == 3
    assert not any(server.alive() for server in lab.servers)
    pace = events.Pace(7.0, 14.0, 3, 0, 1.0, 2.0)
    assert events.Rate(trials[0].cell, "capacity", pace) in lab.events
    over = events.RunEnded(trials[0].cell, "client_cost", events.EngineEnded("", None))
    assert over in lab.events
    assert not psutil.Process().children(recursive=True)


FORECAST = Forecast(2, 2, 3, 9.0, True)


class OnlyX25519:
    """After the first block only X25519 continues, in trials of half the length."""

    def cells(self, trials: Sequence[Trial], block: int) -> frozenset[str]:
        assert {trial.block for trial in trials} == set(range(block))
        keys = {trial.cell for trial in trials if trial.factors["group"] == "X25519"}
        return frozenset(keys or {p.cell for p in make_plan(EXPERIMENT, 5).trials})

    def length(self, trials: Sequence[Trial], planned: PlannedTrial) -> float:
        return 1.0 if planned.block == 0 else 0.5

    def forecast(self, trials: Sequence[Trial], block: int) -> Forecast | None:
        return FORECAST if block == 1 else None

    def reason(self, block: int) -> str:
        return f"settled after {block}"


def test_cells_that_are_settled_leave_and_are_reported_once(tmp_path: Path, script: Script) -> None:
    log = tmp_path / "windows"
    note = f"open({str(log)!r}, 'a').write(str(spec['stop']['duration_ms']) + ' ')\n"
    lab = Lab(tmp_path, script(ANSWERS + note + "print(json.dumps(record))"))
    lab.carry_out(OnlyX25519())
    done = [(trial.block, trial.factors["group"]) for trial in lab.folder.trials()]
    assert len(done) == 6 + 2
    assert done[6:] == [(1, "X25519"), (2, "X25519")]
    skipped = [event for event in lab.events if isinstance(event, events.Skipped)]
    assert skipped == [events.Skipped(10, "settled after 1")]
    assert [event for event in lab.events if isinstance(event, events.Forecasted)] == [
        events.Forecasted(FORECAST)
    ]
    windows = [int(each) for each in log.read_text().split()]
    assert windows.count(700) == 6
    assert windows.count(350) == 2


def test_a_server_that_has_to_get_warm_is_loaded_before_its_trials(
    tmp_path: Path, script: Script
) -> None:
    log = tmp_path / "windows"
    note = f"open({str(log)!r}, 'a').write(str(spec['stop']['duration_ms']) + ' ')\n"
    body = ANSWERS + note + "print(json.dumps(record))"
    lab = Lab(tmp_path, script(body, refused=("X25519",)), warm_up_ms=5000)
    lab.carry_out()
    windows = log.read_text().split()
    able = [trial for trial in lab.folder.trials() if trial.status == "done"]
    # Once for the server of each block, before its first trial, and outside of any run.
    assert windows.count("5000") == 3
    assert windows[0] == "5000"
    assert len(windows) == 3 + sum(len(trial.runs) for trial in able)
    assert all(trial.factors["group"] != "X25519" for trial in able)


def test_a_server_that_gets_slower_is_restarted_for_each_trial(
    tmp_path: Path, script: Script
) -> None:
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"), fresh_per_trial=True)
    lab.carry_out()
    assert [t.trial for t in lab.folder.trials()] == [p.trial for p in lab.plan.trials]
    assert len({server.pid for server in lab.servers}) == len(lab.plan.trials)
    assert not any(server.alive() for server in lab.servers)


@pytest.mark.parametrize(("fresh_per_trial", "starts"), [(False, 3), (True, None)])
def test_the_time_that_is_left_counts_the_warm_ups(
    fresh_per_trial: bool, starts: int | None, tmp_path: Path, script: Script
) -> None:
    lab = Lab(tmp_path, script(""), warm_up_ms=5000, fresh_per_trial=fresh_per_trial)
    trials = len(lab.plan.trials)
    expected = 5.0 * (starts or trials) / trials
    assert warm_up_seconds(lab.plan, lab.deployed) == pytest.approx(expected)


def test_a_warm_up_that_fails_costs_no_trial(tmp_path: Path, script: Script) -> None:
    refuses = "'5000' if spec['stop']['duration_ms'] == 5000 else record"
    lab = Lab(tmp_path, script(ANSWERS + f"print(json.dumps({refuses}))"), warm_up_ms=5000)
    lab.carry_out()
    assert {trial.status for trial in lab.folder.trials()} == {"done"}


def test_a_resumed_run_makes_the_missing_trials_and_none_twice(
    tmp_path: Path, script: Script
) -> None:
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"))
    keep = lab.folder.append
    appended: list[object] = []

    def interrupted_append(trial: object) -> None:
        if len(appended) == 8:
            raise KeyboardInterrupt
        appended.append(trial)
        keep(trial)  # type: ignore[arg-type]

    lab.folder.append = interrupted_append  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        lab.carry_out()
    assert not psutil.Process().children(recursive=True)
    lab.folder.append = keep  # type: ignore[method-assign]
    lab.carry_out()
    numbers = [trial.trial for trial in lab.folder.trials()]
    assert numbers == [planned.trial for planned in lab.plan.trials]


# Each second run of the engine that loads the server had to wait for its processor.
WAITS_EACH_SECOND_TIME = (
    "from pathlib import Path\n"
    "counter = Path(sys.argv[0]).with_suffix('.count')\n"
    "number = int(counter.read_text()) if counter.exists() else 0\n"
    "if spec['tls']['client'] == 'auto':\n"
    "    counter.write_text(str(number + 1))\n"
    "    if number % 2 == 0:\n"
    "        record['verdicts'] = [{'code': 'client_delayed', 'message': ''}]\n"
)
APART = Placement((0,), (1,))


def test_a_disturbed_trial_is_set_aside_and_measured_again(tmp_path: Path, script: Script) -> None:
    code = f"{ANSWERS}{WAITS_EACH_SECOND_TIME}print(json.dumps(record))"
    lab = Lab(tmp_path, script(code), placement=APART)
    lab.carry_out()
    trials = lab.folder.trials()
    assert [trial.trial for trial in trials] == [planned.trial for planned in lab.plan.trials]
    lines = (lab.folder.path / "set_aside.jsonl").read_text("utf-8").splitlines()
    aside = [json.loads(line) for line in lines]
    # No more than a quarter of the plan's trials, the first ones.
    assert len(aside) == len(lab.plan.trials) // 4
    assert [each["trial"] for each in aside] == [each.trial for each in trials[: len(aside)]]
    assert {trial.attempts for trial in trials[: len(aside)]} == {2}
    assert {trial.attempts for trial in trials[len(aside) :]} == {1}
    repeated = [event for event in lab.events if isinstance(event, events.Repeated)]
    assert len(repeated) == len(aside)
    lab.carry_out()
    assert len(lab.folder.trials()) == len(trials)


def test_three_attempts_are_made_at_most(tmp_path: Path, script: Script) -> None:
    verdict = "record['verdicts'] = [{'code': 'client_starved', 'message': ''}]\n"
    lab = Lab(tmp_path, script(f"{ANSWERS}{verdict}print(json.dumps(record))"), placement=APART)
    lab.carry_out()
    attempts = [trial.attempts for trial in lab.folder.trials()]
    assert max(attempts) == 3
    assert sum(attempts) - len(attempts) == len(attempts) // 4


def test_a_trial_that_lost_a_host_keeps_its_verdict(tmp_path: Path, script: Script) -> None:
    codes = "[{'code': code, 'message': ''} for code in ('client_starved', 'host_lost')]"
    code = f"{ANSWERS}record['verdicts'] = {codes}\nprint(json.dumps(record))"
    lab = Lab(tmp_path, script(code), placement=APART)
    lab.carry_out()
    assert {trial.attempts for trial in lab.folder.trials()} == {1}


def test_where_both_sides_share_processors_nothing_is_measured_again(
    tmp_path: Path, script: Script
) -> None:
    verdict = "record['verdicts'] = [{'code': 'client_starved', 'message': ''}]\n"
    shared = Placement((0,), (0, 1))
    lab = Lab(tmp_path, script(f"{ANSWERS}{verdict}print(json.dumps(record))"), placement=shared)
    lab.carry_out()
    assert {trial.attempts for trial in lab.folder.trials()} == {1}
    assert not (lab.folder.path / "set_aside.jsonl").exists()


def test_a_trial_says_nothing_that_json_cannot_hold(tmp_path: Path, script: Script) -> None:
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"))
    lab.carry_out()
    lines = (lab.folder.path / "trials.jsonl").read_text("utf-8").splitlines()
    first = json.loads(lines[0])
    assert first["schema"] == "tlslab.trial/2"
    assert set(first["runs"]["capacity"]) == {
            "record", "server", "machine", "pace", "side",
        }  # fmt: skip
    assert first["runs"]["capacity"]["server"]["processes"] == 1


def test_each_deployment_of_a_block_has_a_server_of_its_own(tmp_path: Path, script: Script) -> None:
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"), TWO)
    lab.deployed = replace(
        lab.deployed,
        prepared={
            Deployment(name): Prepared(OTHER, Aim("https://unset/"), lab.start)
            for name in ("reference", "nginx")
        },
    )
    lab.carry_out()
    assert len({server.pid for server in lab.servers}) == 6
    assert not any(server.alive() for server in lab.servers)
    assert {trial.status for trial in lab.folder.trials()} == {"done"}


def test_a_plan_without_deployments_is_carried_out_on_the_only_server(
    tmp_path: Path, script: Script
) -> None:
    """Plans of the first version had one server a run, and did not name it."""
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"))
    lab.plan = replace(
        lab.plan, cells=tuple(replace(cell, deployment=None) for cell in lab.plan.cells)
    )
    lab.carry_out()
    assert len(lab.folder.trials()) == 18


def test_an_engine_with_nothing_to_drain_reports_its_end_by_being_done(
    tmp_path: Path, script: Script
) -> None:
    done = ANSWERS.replace("drain", "done")
    lab = Lab(tmp_path, script(done + "print(json.dumps(record))"))
    lab.carry_out()
    trials = lab.folder.trials()
    assert {trial.status for trial in trials} == {"done"}
    assert all(run.server.memory_bytes for t in trials for run in t.runs.values() if run.server)
