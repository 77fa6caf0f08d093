"""The conductor: what is run, what is kept, and what happens when things go wrong."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tlslab.experiment import dumps, load, with_levels
from tlslab.lab import events
from tlslab.lab.conductor import carry_out
from tlslab.lab.deployments import Prepared, Servers
from tlslab.lab.engine import Engine
from tlslab.lab.environment import describe
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.generators.several import SeveralHosts
from tlslab.lab.matrix.agenda import BlocksAgenda, Ending
from tlslab.lab.matrix.run_in_blocks import warm_up_seconds
from tlslab.lab.placement import Placement
from tlslab.lab.serving import Benches
from tlslab.lab.specs import Aim
from tlslab.lab.trial import run_trial
from tlslab.model.deployment import Deployment
from tlslab.model.errors import CannotRunError, NoGeneratorError, StoreError
from tlslab.model.experiment import Experiment
from tlslab.model.plan import Plan, PlannedTrial
from tlslab.model.run import TargetInfo
from tlslab.model.stopping import Forecast
from tlslab.model.trial import Trial
from tlslab.planning import make_plan
from tlslab.store import RunFolder
from tlslab.targets import Running
from tlslab.targets.process import ServerProcess

Script = Callable[..., str]

EXPERIMENT = replace(load("groups", quick=True), blocks=3)
ANSWERS = (
    "spec = json.load(sys.stdin)\n"
    "group = spec['tls']['groups'][0]\n"
    "emit(event='phase', phase='measure', at_ns=1)\n"
    "emit(event='progress', connections_per_s=7.0, requests_per_s=14.0, in_flight=3, failed=0,"
    " service={'n': 7, 'p50_ms': 1.0, 'p99_ms': 2.0}, response=None)\n"
    "emit(event='phase', phase='drain', at_ns=2)\n"
    "emit(event='ended', totals=None)\n"
)


class Lab:
    """A conductor with fake programs, and a tally of what it did."""

    def __init__(
        self,
        tmp_path: Path,
        engine: str,
        experiment: Experiment = EXPERIMENT,
        prepared: Mapping[str, Prepared] | None = None,
        warm_up_ms: int = 0,
        fresh_per_trial: bool = False,
    ) -> None:
        self.tmp_path = tmp_path
        self.plan: Plan = make_plan(experiment, 5)
        info = TargetInfo(
            "fake", True, "fake", "none", (), "127.0.0.1", "/", warm_up_ms, fresh_per_trial
        )
        environment = describe(info, Placement((), ()), ["tlslab"], [])
        path = tmp_path / "run"
        self.folder = RunFolder.create(path, dumps(experiment), self.plan, environment)
        self.servers: list[ServerProcess] = []
        self.events: list[events.Event] = []
        ready = Prepared(info, Aim("https://unset/"), lambda: self.start())
        all_ = {Deployment("reference"): ready}
        all_ |= {Deployment(name): each for name, each in (prepared or {}).items()}
        self.deployed = Servers(experiment, all_, ())
        self.engine: GeneratorPool = Engine(engine)

    def start(self) -> Running:
        command = [sys.executable, "-c", "import time; time.sleep(60)"]
        process = ServerProcess(command, self.tmp_path / "server.log")
        self.servers.append(process)
        return Running("https://127.0.0.1:1/", process)

    def carry_out(self, ending: Ending | None = None) -> None:
        benches = Benches(self.engine, self.deployed)
        agenda = BlocksAgenda(self.plan, benches, self.events.append, run_trial, ending)
        carry_out(agenda, self.folder)


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
    """After the first block only X25519 goes on, in trials of half the length."""

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
    # Once for each block's server, before its first trial and no run of one.
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


REFUSAL = {"schema": "tlslab.error/1", "class": "alert_handshake_failure", "message": "no group"}


def test_a_cell_that_the_probe_saw_refused_is_recorded_once_and_never_tried(
    tmp_path: Path, script: Script
) -> None:
    body = "assert group != 'X448'\nprint(json.dumps(record))"
    lab = Lab(tmp_path, script(ANSWERS + body, refused=("X448",)))
    lab.carry_out()
    counts = Counter((trial.factors["group"], trial.status) for trial in lab.folder.trials())
    assert events.Skipped(2, "tls=1.3,key=ecdsa-p256,group=X448 is unsupported") in lab.events
    assert counts["X448", "unsupported"] == 1
    assert counts["X25519", "done"] == 3
    reasons = [trial.reason for trial in lab.folder.trials() if trial.status == "unsupported"]
    assert reasons[0] is not None
    assert reasons[0].class_ == "alert_handshake_failure"
    words = "the server answered handshake_failure (40) to TLS 1.3 with only X448"
    assert reasons[0].message.startswith(words)


def test_what_the_probe_saw_accepted_has_failed_when_its_preflight_fails(
    tmp_path: Path, script: Script
) -> None:
    body = f"print(json.dumps({REFUSAL!r} if group == 'X448' else record))"
    lab = Lab(tmp_path, script(ANSWERS + body))
    lab.carry_out()
    counts = Counter((trial.factors["group"], trial.status) for trial in lab.folder.trials())
    assert (counts["X448", "failed"], counts["X448", "unsupported"]) == (3, 0)


def test_without_a_probe_the_preflight_reports_what_is_unsupported(
    tmp_path: Path, script: Script
) -> None:
    body = f"print(json.dumps({REFUSAL!r} if group == 'X448' else record))"
    no_probe = "if '--probe' in sys.argv:\n    sys.exit(3)\n"
    path = Path(script(ANSWERS + body))
    path.write_text(path.read_text().replace("if '--probe' in", no_probe + "if '--probe' in", 1))
    lab = Lab(tmp_path, str(path))
    lab.carry_out()
    counts = Counter((trial.factors["group"], trial.status) for trial in lab.folder.trials())
    assert (counts["X448", "unsupported"], counts["X25519", "done"]) == (1, 3)


def test_a_failing_cell_fails_alone(tmp_path: Path, script: Script) -> None:
    body = (
        "print(json.dumps({'schema': 'tlslab.error/1', 'class': 'http_status', 'message': '500'}"
        " if group == 'P-384' else record))"
    )
    lab = Lab(tmp_path, script(ANSWERS + body))
    lab.carry_out()
    counts = Counter((trial.factors["group"], trial.status) for trial in lab.folder.trials())
    assert counts["P-384", "failed"] == 3
    assert sum(counts.values()) == 18


def test_a_dead_server_fails_its_trial_and_the_next_block_has_a_fresh_one(
    tmp_path: Path, script: Script
) -> None:
    marker = tmp_path / "killed"
    pid_file = tmp_path / "pid"
    body = (
        f"if group == 'P-384' and not os.path.exists({str(marker)!r}):\n"
        f"    open({str(marker)!r}, 'w').close()\n"
        f"    pid = open({str(pid_file)!r}).read()\n"
        "    os.kill(int(pid), signal.SIGKILL)\n"
        # It is dead once it is a zombie; the signal alone is not yet.
        "    while open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[0] != 'Z':\n"
        "        pass\n"
        "print(json.dumps(record))"
    )
    lab = Lab(tmp_path, script(ANSWERS + body))
    start = lab.start

    def start_and_report() -> Running:
        running = start()
        pid_file.write_text(str(running.process.pid))
        return running

    lab.start = start_and_report  # type: ignore[method-assign]
    lab.carry_out()
    trials = lab.folder.trials()
    failed = [trial for trial in trials if trial.status == "failed"]
    assert len(failed) == 1
    assert failed[0].reason is not None
    assert failed[0].reason.class_ == "server_died"
    left_out = 5 - failed[0].position
    assert len(trials) == 18 - left_out
    assert events.Skipped(left_out, "the server died in block 1") in lab.events
    assert len(lab.servers) == 3


def test_what_is_missing_is_run_later_and_nothing_twice(tmp_path: Path, script: Script) -> None:
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


def test_a_full_disk_stops_the_run_and_the_server(tmp_path: Path, script: Script) -> None:
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"))

    def full(trial: object) -> None:
        raise StoreError("no space left")

    lab.folder.append = full  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        lab.carry_out()
    assert len(lab.servers) == 1
    assert not lab.servers[0].alive()


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


TWO = with_levels(EXPERIMENT, {"server": ("reference", "nginx"), "group": ("X25519", "P-256")})
OTHER = TargetInfo("nginx", True, "nginx", "none", (), "127.0.0.1", "/")


def reasons(lab: Lab) -> Counter[tuple[str, str, str]]:
    return Counter(
        (trial.factors["server"], trial.status, trial.reason.message if trial.reason else "")
        for trial in lab.folder.trials()
    )


def test_a_server_that_cannot_be_set_up_fails_its_own_cells_once(
    tmp_path: Path, script: Script
) -> None:
    broken = Prepared(OTHER, Aim(""), failure="nginx refuses its configuration: unknown directive")
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"), TWO, {"nginx": broken})
    lab.carry_out()
    assert reasons(lab) == {
        ("reference", "done", ""): 6,
        ("nginx", "failed", "nginx refuses its configuration: unknown directive"): 2,
    }
    skipped = [event for event in lab.events if isinstance(event, events.Skipped)]
    assert sum(event.trials for event in skipped) == 4
    lab.carry_out()
    assert sum(reasons(lab).values()) == 8


def test_a_server_that_does_not_start_fails_its_own_cells_in_each_block(
    tmp_path: Path, script: Script
) -> None:
    def refuse() -> Running:
        raise CannotRunError("nginx did not start: the port is taken")

    broken = Prepared(OTHER, Aim(""), refuse)
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"), TWO, {"nginx": broken})
    lab.carry_out()
    assert reasons(lab) == {
        ("reference", "done", ""): 6,
        ("nginx", "failed", "nginx did not start: the port is taken"): 6,
    }


def test_the_only_server_that_does_not_start_ends_the_run(tmp_path: Path, script: Script) -> None:
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"))

    def refuse() -> Running:
        raise CannotRunError("it did not start: no")

    lab.start = refuse  # type: ignore[method-assign]
    with pytest.raises(CannotRunError, match="it did not start: no"):
        lab.carry_out()
    assert lab.folder.trials() == ()


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


def test_an_engine_that_does_not_report_when_it_measured_fails_the_trial(
    tmp_path: Path, script: Script
) -> None:
    silent = ANSWERS.replace("phase='drain'", "phase='warmup'")
    lab = Lab(tmp_path, script(silent + "print(json.dumps(record))"))
    lab.carry_out()
    assert {trial.status for trial in lab.folder.trials()} == {"failed"}


def test_no_server_is_started_for_a_pool_without_generators(tmp_path: Path, script: Script) -> None:
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"))
    lab.engine = SeveralHosts([], "fail", "tlslab-load", "here")
    with pytest.raises(NoGeneratorError):
        lab.carry_out()
    assert (lab.servers, lab.folder.trials()) == ([], ())
