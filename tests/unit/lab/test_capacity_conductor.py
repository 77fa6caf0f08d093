"""The conductor of capacity experiments, with fake programs: rounds, faults, resuming."""

import contextlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from factories.capacity import made_plan
from tlslab.domain import events
from tlslab.domain.deployment import Deployment
from tlslab.domain.errors import CannotRunError
from tlslab.domain.plan import Plan
from tlslab.domain.run import TargetInfo
from tlslab.experiment import dumps, load, make_plan
from tlslab.lab.capacity.capacity_run import StepsAgenda
from tlslab.lab.conductor import carry_out
from tlslab.lab.deployments import Prepared, Servers
from tlslab.lab.engine import Engine
from tlslab.lab.opening import describe
from tlslab.lab.placement import Placement
from tlslab.lab.serving import Benches
from tlslab.lab.specs import Aim
from tlslab.lab.store import RunFolder
from tlslab.servers import Running
from tlslab.servers.process import ServerProcess

pytestmark = pytest.mark.slow

Script = Callable[..., str]

# A server that takes 3,000 connections/s from 12 connections on, and 250 per connection below that.
ANSWERS = """\
spec = json.load(sys.stdin)
emit(event='phase', phase='measure', at_ns=1)
emit(event='phase', phase='drain', at_ns=2)
rate = min(3000, 250 * spec['connections'])
loop = spec.get('load')
if loop:
    rate = loop['rate']['constant']
    record['open_loop'] = {'arrivals': int(rate / 10), 'started': int(rate / 10), 'blocked': 0,
        'waiting_at_stop': 0, 'offered_per_s': rate, 'achieved_per_s': rate}
completed = int(rate / 10)
record['outcomes'] |= {'completed': completed, 'attempts': completed + 4}
record['intervals'] = [{'at_s': n / 40, 'seconds': 0.025, 'completed': completed // 4, 'failed': 0,
    'cpu': {'user_us': 1, 'system_us': 1}} for n in range(4)]
"""
PRINT = "print(json.dumps(record))"


class Lab:
    """A conductor with fake programs for cells with two processors."""

    def __init__(self, tmp_path: Path, engine: str, failure: str = "") -> None:
        self.tmp_path = tmp_path
        settings = replace(made_plan(), validation=None)
        self.experiment = replace(load("capacity"), settings=settings)
        self.plan: Plan = replace(make_plan(self.experiment, 5), trials=())
        info = TargetInfo("fake", True, "fake", "none", (0,), "127.0.0.1", "/")
        environment = describe(info, Placement((0,), (1,)), ["tlslab"], [])
        path = tmp_path / "run"
        self.folder = RunFolder.create(path, dumps(self.experiment), self.plan, environment)
        self.servers: list[ServerProcess] = []
        self.events: list[events.Event] = []
        ready = Prepared(info, Aim("https://unset/"), self.start)
        broken = replace(ready, failure=failure) if failure else ready
        one, two = (cell.deployment or Deployment("reference") for cell in self.plan.cells)
        self.prepared = {one: ready, two: broken}
        self.engine = Engine(engine)

    def start(self) -> Running:
        command = [sys.executable, "-c", "import time; time.sleep(60)"]
        process = ServerProcess(command, self.tmp_path / "server.log")
        self.servers.append(process)
        return Running("https://127.0.0.1:1/", process)

    def carry_out(self) -> None:
        servers = Servers(self.experiment, self.prepared, (1,))
        agenda = StepsAgenda(self.plan, Benches(self.engine, servers), self.events.append)
        carry_out(agenda, self.folder)


def stages(lab: Lab, cell: int) -> list[str]:
    key = lab.plan.cells[cell].key
    return [trial.factors["stage"] for trial in lab.folder.trials() if trial.cell == key]


def test_cells_take_turns_and_every_visit_has_a_fresh_server(
    tmp_path: Path, script: Script
) -> None:
    lab = Lab(tmp_path, script(ANSWERS + PRINT))
    lab.carry_out()
    trials = lab.folder.trials()
    assert {trial.status for trial in trials} == {"done"}
    assert [trial.trial for trial in trials] == list(range(len(trials)))
    for cell in (0, 1):
        assert list(dict.fromkeys(stages(lab, cell))) == ["search", "maximum", "open_loop"]
        assert stages(lab, cell).count("open_loop") == 15
    rates = {t.factors["fraction"]: t.factors["rate"] for t in trials if "fraction" in t.factors}
    assert rates == {"0.2": "600", "0.4": "1200", "0.6": "1800", "0.8": "2400", "1.0": "3000"}
    visits = {(trial.cell, trial.block) for trial in trials}
    assert len(visits) == len({server.pid for server in lab.servers}) == 12
    blocks = [trial.block for trial in trials]
    assert blocks == sorted(blocks)
    assert not any(server.alive() for server in lab.servers)
    assert not psutil.Process().children(recursive=True)


def test_the_remaining_steps_decrease_to_none(tmp_path: Path, script: Script) -> None:
    lab = Lab(tmp_path, script(ANSWERS + PRINT))
    lab.carry_out()
    ended = [event.left for event in lab.events if isinstance(event, events.StepEnded)]
    assert [left.done for left in ended] == list(range(1, len(ended) + 1))
    steps = [left.steps for left in ended]
    assert steps == sorted(steps, reverse=True)
    assert (ended[-1].steps, ended[-1].seconds) == (0, 0.0)


def test_a_server_that_cannot_be_set_up_fails_its_own_cell(tmp_path: Path, script: Script) -> None:
    lab = Lab(tmp_path, script(ANSWERS + PRINT), failure="no such option")
    lab.carry_out()
    failed = [trial for trial in lab.folder.trials() if trial.status == "failed"]
    assert len(failed) == 1
    assert failed[0].reason is not None
    assert failed[0].reason.message == "no such option"
    assert stages(lab, 0).count("open_loop") == 15


def test_a_cell_is_given_up_after_three_failures(tmp_path: Path, script: Script) -> None:
    breaks = "if loop: sys.exit('it broke')\n"
    lab = Lab(tmp_path, script(ANSWERS + breaks + PRINT))
    lab.carry_out()
    failed = [trial for trial in lab.folder.trials() if trial.status == "failed"]
    assert len(failed) == 6
    assert {trial.factors["stage"] for trial in failed} == {"open_loop"}


def test_a_cut_off_run_goes_on(tmp_path: Path, script: Script) -> None:
    lab = Lab(tmp_path, script(ANSWERS + PRINT))
    heard: list[events.Event] = lab.events

    def cut(event: events.Event) -> None:
        heard.append(event)
        if sum(isinstance(each, events.StepEnded) for each in heard) == 9:
            raise KeyboardInterrupt

    servers = Servers(lab.experiment, lab.prepared, (1,))
    with contextlib.suppress(KeyboardInterrupt):
        carry_out(StepsAgenda(lab.plan, Benches(lab.engine, servers), cut), lab.folder)
    before = lab.folder.trials()
    assert len(before) == 9
    assert not any(server.alive() for server in lab.servers)
    lab.carry_out()
    trials = lab.folder.trials()
    assert trials[:9] == before
    assert [trial.trial for trial in trials] == list(range(len(trials)))
    for cell in (0, 1):
        assert stages(lab, cell).count("maximum") == 3
        assert stages(lab, cell).count("open_loop") == 15


def test_a_server_that_does_not_start_is_tried_again_in_another_round(
    tmp_path: Path, script: Script
) -> None:
    lab = Lab(tmp_path, script(ANSWERS + PRINT))
    attempts: list[int] = []

    def start() -> Running:
        attempts.append(1)
        if len(attempts) == 1:
            raise CannotRunError("the port is taken")
        return lab.start()

    first = next(iter(lab.prepared))
    lab.prepared[first] = replace(lab.prepared[first], start=start)
    lab.carry_out()
    failed = [trial for trial in lab.folder.trials() if trial.status == "failed"]
    assert [trial.reason.message for trial in failed if trial.reason] == ["the port is taken"]
    assert stages(lab, 0).count("open_loop") == 15
