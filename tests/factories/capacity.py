"""Made-up capacity runs: a server with a known capacity, loaded in the planner's own steps."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from factories.histogram import encoded_histogram
from factories.run import World, environment
from tlslab.contract.record import (
    Bytes,
    CountedFacts,
    CpuTime,
    Facts,
    HostClock,
    HostFound,
    HostPart,
    Interval,
    LastTotals,
    Lost,
    OpenLoop,
    Outcomes,
    Preflight,
    RunRecord,
    TimeSummary,
    Users,
    Verdict,
    WorkerUsage,
)
from tlslab.domain.capacity import (
    CapacityPlan,
    MaximumRules,
    Objective,
    OpenLoopRules,
    Remedies,
    SearchRules,
    Step,
    WithinRules,
)
from tlslab.domain.experiment import Experiment, Factor
from tlslab.domain.plan import Cell, Plan
from tlslab.domain.profile import Profile
from tlslab.domain.run import RunContents
from tlslab.domain.trial import (
    MachineUsage,
    ProcessorUsage,
    Reason,
    RunKind,
    ServerUsage,
    Trial,
    TrialRun,
)
from tlslab.domain.workload import Window, Workload
from tlslab.experiment.capacity_planner import next_step

# Numbers of connections, and their rates in connections/s.
Counts = npt.NDArray[np.int64]
Rates = npt.NDArray[np.float64]

WINDOW = Window(200, 1000)

# Open loops are long enough to show that a load meets an objective of 300 ms.
OPEN_LOOP = Window(200, 3000)
FIFTHS = (0.2, 0.4, 0.6, 0.8, 1.0)
VALUES = 1000
TENS = 10
IN_FLIGHT = 4
FACTS = Facts("1.3", "TLS_AES_256_GCM_SHA384", "X25519", "ecdsa_secp256r1_sha256", "full", False)


def made_plan(
    remedies: bool = False,
    fresh_server: bool = True,
    objective: Objective | None = None,
    repetitions: int = 3,
    within: int = 0,
) -> CapacityPlan:
    """A plan like that of the published capacity study, with this number of repetitions or more.

    `within`: the limit on the runs of the search for the highest load within the objective.
    """
    sorts = Remedies("psk", (0.0, 0.5, 0.9), (1, 4, 16), repetitions, WINDOW)
    return CapacityPlan(
        search=SearchRules(4, 512, WINDOW),
        maximum=MaximumRules(repetitions, repetitions + 3, WINDOW),
        open_loop=OpenLoopRules(FIFTHS, repetitions, 2000, OPEN_LOOP),
        remedies=sorts if remedies else None,
        within=WithinRules(within, OPEN_LOOP) if within else None,
        objective=objective,
        fresh_server=fresh_server,
    )


def made_cell(**factors: str) -> Cell:
    """A cell with these levels."""
    factors = factors or {"server": "nginx", "processors": "1"}
    return Cell(",".join(f"{k}={v}" for k, v in factors.items()), factors, Profile(tls="1.3"))


@dataclass
class CapacityWorld:
    """The behaviour of the made-up server: a universal scalability law over connections.

    `alone`: connections/s with one connection at a time; contention and coherency as in Gunther.
    `noise`: between runs, on a logarithmic scale. The generator needs `client_us` for each
    connection, and starts those of an open loop `late_ms` late. At its maximum the server is busy
    for `busy` of its processors' time, and other programs take `taken` of it. Each of several
    generators has its own machine, and makes no more than its processor has time for. `loses` names
    a step in which one generator is lost.
    """

    alone: float = 900.0
    contention: float = 0.2
    coherency: float = 0.0005
    noise: float = 0.005
    client_us: float = 60.0
    late_ms: float = 0.01
    busy: float = 1.0
    taken: float = 0.0
    fails_from: int | None = None
    seed: int = 1
    status: Callable[[Step], str] = lambda step: "done"
    loses: Callable[[Step], bool] = lambda step: False

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self.steps: list[Step] = []
        self.processors = 1

    def rate(self, connections: int) -> float:
        """New connections/s in a closed loop, without noise."""
        return float(self.rates(np.array([connections]))[0])

    def rates(self, connections: Counts) -> Rates:
        """The same for several numbers of connections."""
        n = connections
        found: Rates = (
            self.alone * n / (1 + self.contention * (n - 1) + self.coherency * n * (n - 1))
        )
        return found

    @property
    def best(self) -> float:
        """The maximum over all concurrencies."""
        return float(self.rates(np.arange(1, 2000)).max())

    def trial(self, step: Step, cell: Cell, number: int) -> Trial:
        """The trial of a step."""
        self.steps.append(step)
        self.processors = int(cell.factors.get("processors", 1))
        status = self.status(step)
        kind: RunKind = step.stage if step.rate is None else "load"  # type: ignore[assignment]
        runs = {kind: self._run(step)} if status == "done" else {}
        return Trial(
            trial=number,
            block=step.visit,
            position=number,
            cell=cell.key,
            factors={**cell.factors, **step.factors},
            started="2026-03-14T09:27:00.000+00:00",
            status=status,  # type: ignore[arg-type]
            reason=None if status == "done" else Reason("server_died", "the server died"),
            runs=runs,
        )

    def _run(self, step: Step) -> TrialRun:
        seconds = step.window.measure_ms / 1000
        noisy = float(np.exp(self._rng.normal(0, self.noise)))
        capacity = self.best * noisy
        if step.rate is None:
            achieved = self.rate(step.connections) * noisy
            service_ms = step.connections / achieved * 1e3
            response_ms = service_ms
        else:
            achieved = min(float(step.rate), capacity)
            load = min(0.99, step.rate / capacity)
            service_ms = 1.0 / (1 - load)
            response_ms = service_ms + (200.0 if step.rate > capacity else 0.0)
        if step.generators is not None:
            achieved = min(achieved, step.generators * 0.99e6 / self.client_us)
        record = self._record(step, achieved, seconds, service_ms, response_ms)
        if step.generators is not None:
            record = made_by(record, step.generators, self.loses(step))
        server_us = self.busy * self.processors * 1e6 / self.best
        used = round(achieved * seconds * server_us)
        busy = self.busy * min(1.0, achieved / capacity)
        machine = MachineUsage(
            seconds, used, 0, round(seconds * 1e6), 0, 0,
            tuple(
                ProcessorUsage(b, b, 0.0, 0.0, 0.0)
                for b in (*[busy + self.taken] * self.processors, 0.5)
            ),
        )  # fmt: skip
        return TrialRun(record, machine, ServerUsage(used // 2, used // 2, seconds, 9_400_000, 2))

    def _record(
        self, step: Step, rate: float, seconds: float, service_ms: float, response_ms: float
    ) -> RunRecord:
        completed = round(rate * seconds)
        failing = self.fails_from is not None and step.connections >= self.fails_from
        failed = {"timeout_handshake": completed // 5} if failing and step.rate is None else {}
        client_us = round(completed * self.client_us)
        cpu = CpuTime(client_us // 2, client_us - client_us // 2)
        times = {"service": service_ms, "handshake": service_ms * 0.8}
        open_loop = None
        if step.rate is not None:
            times |= {"response": response_ms, "start_delay": self.late_ms}
            due = round(step.rate * seconds)
            open_loop = OpenLoop(due, completed, 0, due - completed, float(step.rate), rate)
        gave_up = 0
        if open_loop is not None and step.patience_ms is not None:
            # Of users who come back, nobody is answered.
            gave_up = open_loop.waiting_at_stop
            users = Users(
                due + IN_FLIGHT, completed, 0, gave_up, 0, 0, IN_FLIGHT, gave_up * step.retries
            )
            open_loop = replace(open_loop, started=due, waiting_at_stop=0, users=users)
        late = step.rate is not None and rate < 0.99 * step.rate
        verdict = Verdict("rate_not_achieved", "late") if late else Verdict("valid", "nothing")
        drawn = {name: self._times(ms) for name, ms in times.items()}
        abandoned = gave_up * (1 + step.retries)
        return RunRecord(
            schema="tlslab.record/1",
            spec={"url": "https://127.0.0.1:40001/document", "connections": step.connections},
            backend="rustls",
            versions={},
            environment={},
            address="127.0.0.1:40001",
            preflight=Preflight(FACTS, status=200, body_bytes=2048, server="nginx"),
            outcomes=Outcomes(
                completed + sum(failed.values()) + abandoned + IN_FLIGHT,
                completed,
                IN_FLIGHT,
                failed,
                {},
                abandoned=abandoned,
            ),
            facts=(CountedFacts(**vars(FACTS), count=completed),),
            authenticated=completed // 128,
            requests=completed * (step.requests_per_connection or 1),
            seconds=seconds,
            cpu=cpu,
            workers=(WorkerUsage(cpu, seconds, processor=1),),
            bytes=Bytes(320, 1180, 480, 6300, 238, 2048),
            histograms={name: encoded for name, (encoded, _) in drawn.items()},
            summaries={name: summary for name, (_, summary) in drawn.items()},
            intervals=tuple(self._slice(rate, at) for at in range(round(seconds * 10))),
            verdicts=(verdict,),
            open_loop=open_loop,
            concurrency=rate * service_ms / 1e3,
        )

    def _slice(self, rate: float, at: int) -> Interval:
        noisy = rate / 10 * float(np.exp(self._rng.normal(0, self.noise)))
        return Interval(at / 10, 0.1, round(noisy), 0, CpuTime(1000, 1000))

    def _times(self, mean_ms: float) -> tuple[str, TimeSummary]:
        drawn = self._rng.lognormal(-0.005, 0.1, VALUES) * mean_ms
        tens = (np.sort(drawn)[TENS // 2 :: TENS] * 1e6).astype(np.int64)
        p50, p90, p95, p99, p999 = map(float, np.quantile(drawn, [0.5, 0.9, 0.95, 0.99, 0.999]))
        summary = TimeSummary(
            VALUES,
            float(drawn.min()),
            mean_ms,
            float(drawn.std()),
            p50,
            p90,
            p95,
            p99,
            p999,
            float(drawn.max()),
        )
        return encoded_histogram(np.repeat(tens, TENS)), summary


class Uneven(CapacityWorld):
    """A world whose rates vary so much within a run that its search ends by noise."""

    def _slice(self, rate: float, at: int) -> Interval:
        noisy = rate / 10 * float(np.exp(self._rng.normal(0, 0.25)))
        return Interval(at / 10, 0.1, round(noisy), 0, CpuTime(1000, 1000))


def made_by(record: RunRecord, generators: int, is_lost: bool = False) -> RunRecord:
    """The record of several generators, each on its own machine.

    Their clocks are known to 20 µs, and they start 0.1 ms apart.
    """
    cpu = CpuTime(record.cpu.user_us // generators, record.cpu.system_us // generators)
    worker = WorkerUsage(cpu, record.seconds, processor=1)
    hosts = [
        HostPart(
            name=f"node-{number}",
            environment={"processor": "made up", "kernel": "6", "processors": 2},
            address=record.address,
            started=None,
            seconds=record.seconds,
            connections=1,
            outcomes=Outcomes(1, 1, 0, {}, {}),
            requests=1,
            cpu=cpu,
            workers=(worker,),
            open_loop=None,
            verdicts=record.verdicts,
            start_skew_s=number * 1e-4,
            found=HostFound(
                boot_id=f"machine-{number}",
                handshakes_per_s=2000.0,
                clock=HostClock(
                    offset_s=0.5,
                    uncertainty_s=2e-5,
                    drift_ppm=3.0,
                    drift_uncertainty_ppm=1.0,
                    readings=9,
                ),
            ),
        )
        for number in range(generators)
    ]
    verdicts = record.verdicts
    if is_lost:
        lost = Lost("it died", 0.5, LastTotals(completed=7, in_flight=2))
        hosts[-1] = replace(hosts[-1], workers=(), lost=lost, start_skew_s=None)
        verdicts = (Verdict("host_lost", "1 of 2 generators: it died"),)
    return replace(record, hosts=tuple(hosts), workers=(worker,) * generators, verdicts=verdicts)


def drive(
    plan: CapacityPlan,
    world: CapacityWorld,
    cell: Cell | None = None,
    stop_after: int = 500,
    shared: bool = False,
) -> list[Trial]:
    """All trials of a cell, as the conductor runs them; the end of a visit stops the server."""
    cell = cell or made_cell()
    trials: list[Trial] = []
    here: list[Trial] = []
    visit: int | None = None
    while len(trials) < stop_after:
        step = next_step(plan, cell, 1, trials, here, shared)
        if step is None:
            return trials
        if visit is not None and step.visit != visit:
            here, visit = [], None
            continue
        visit = step.visit
        trial = world.trial(step, cell, len(trials))
        trials.append(trial)
        here.append(trial)
        if trial.status == "failed":
            here, visit = [], None
    return trials


def log_mean(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


WORKLOAD = Workload(2048, 512, 1, WINDOW, WINDOW)


def made_capacity_run(
    worlds: dict[str, CapacityWorld] | None = None, plan: CapacityPlan | None = None
) -> RunContents:
    """A whole run: a cell for each world, whose name is `SERVER` or `SERVER PROCESSORS`."""
    return _usual_run() if worlds is None and plan is None else _made_run(worlds, plan)


@cache
def _usual_run() -> RunContents:
    """Most tests use this one."""
    return _made_run(None, None)


def _made_run(worlds: dict[str, CapacityWorld] | None, plan: CapacityPlan | None) -> RunContents:
    plan = plan or made_plan(remedies=True, objective=Objective("p99", 5.0))
    worlds = worlds or {
        "nginx 1": CapacityWorld(seed=1),
        "nginx 2": CapacityWorld(alone=1700.0, seed=2),
        "apache 1": CapacityWorld(alone=700.0, seed=3),
        "apache 2": CapacityWorld(alone=1300.0, seed=4),
    }
    cells, trials = [], []
    for name, world in worlds.items():
        server, _, processors = name.partition(" ")
        cell = made_cell(server=server, processors=processors or "1")
        cells.append(cell)
        trials += drive(plan, world, cell)
    levels = {n: tuple(dict.fromkeys(c.factors[n] for c in cells)) for n in cells[0].factors}
    experiment = Experiment(
        name="capacity",
        title="How many new connections a second?",
        factors=tuple(Factor(name, found) for name, found in levels.items()),
        baseline={"processors": "1"},
        workload=WORKLOAD,
        blocks=1,
        published="coradiant-2001",
        kind="capacity",
        settings=plan,
    )
    made = Plan(1, 1, tuple(cells), (), ())
    where = replace(
        environment(World(target="nginx"), made),
        generator_processors=(3,),
    )
    return RunContents(experiment, made, where, tuple(trials))
