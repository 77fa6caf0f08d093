"""A conductor with fake programs, for tests of its runs and of the results that it keeps."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tlslab.domain import events
from tlslab.domain.deployment import Deployment
from tlslab.domain.experiment import Experiment
from tlslab.domain.plan import Plan
from tlslab.domain.run import TargetInfo
from tlslab.experiment import dumps, load, make_plan, with_levels
from tlslab.lab.conductor import carry_out
from tlslab.lab.deployments import Prepared, Servers
from tlslab.lab.engine import Engine
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.matrix.agenda import BlocksAgenda, Ending
from tlslab.lab.opening import describe
from tlslab.lab.placement import Placement
from tlslab.lab.serving import Benches
from tlslab.lab.specs import Aim
from tlslab.lab.store import RunFolder
from tlslab.lab.trial import run_trial
from tlslab.servers import Running
from tlslab.servers.process import ServerProcess

Script = Callable[..., str]

EXPERIMENT = replace(load("groups", "quick"), blocks=3)

TWO = with_levels(EXPERIMENT, {"server": ("reference", "nginx"), "group": ("X25519", "P-256")})
UNPINNED = Placement((), ())
OTHER = TargetInfo("nginx", True, "nginx", "none", (), "127.0.0.1", "/")

# The code that a fake engine executes before it prints its record.
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
    """A conductor with fake programs, and a log of its actions."""

    def __init__(
        self,
        tmp_path: Path,
        engine: str,
        experiment: Experiment = EXPERIMENT,
        prepared: Mapping[str, Prepared] | None = None,
        warm_up_ms: int = 0,
        fresh_per_trial: bool = False,
        placement: Placement = UNPINNED,
    ) -> None:
        self.tmp_path = tmp_path
        self.plan: Plan = make_plan(experiment, 5)
        info = TargetInfo(
            "fake", True, "fake", "none", placement.server, "127.0.0.1", "/", warm_up_ms,
            fresh_per_trial,
        )  # fmt: skip
        environment = describe(info, placement, ["tlslab"], [])
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
        """A process in the place of a server."""
        command = [sys.executable, "-c", "import time; time.sleep(60)"]
        process = ServerProcess(command, self.tmp_path / "server.log")
        self.servers.append(process)
        return Running("https://127.0.0.1:1/", process)

    def carry_out(self, ending: Ending | None = None) -> None:
        """Runs the missing trials of the plan."""
        benches = Benches(self.engine, self.deployed)
        report, environment = self.events.append, self.folder.environment()
        agenda = BlocksAgenda(self.plan, benches, report, run_trial, environment, ending)
        carry_out(agenda, self.folder)
