"""Made-up runs: the content of run folders, with chosen costs, noise and faults.

The figures have the size of those of nginx on one processor. The same seed makes the same run.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from factories.histogram import encoded_histogram
from tlslab.contract.record import (
    Bytes,
    Certificate,
    CountedFacts,
    CpuTime,
    Facts,
    FlightTimes,
    Interval,
    Outcomes,
    Preflight,
    RunRecord,
    TimeSummary,
    Verdict,
    WorkerUsage,
)
from tlslab.domain.experiment import Experiment
from tlslab.domain.plan import Cell, Plan, PlannedTrial
from tlslab.domain.run import Environment, RunContents, TargetInfo
from tlslab.domain.trial import (
    CpuSample,
    MachineUsage,
    ProcessorUsage,
    Reason,
    RunKind,
    ServerUsage,
    Trial,
    TrialRun,
)
from tlslab.domain.wording import level_label
from tlslab.domain.workload import NO_WINDOW, KeepAlive
from tlslab.experiment import load, make_plan

# Microseconds of processor time for a connection: the server's, and a full client's.
SERVER_US = {
    "X25519": 255.0,
    "P-256": 262.0,
    "X448": 421.0,
    "P-384": 598.0,
    "P-521": 641.0,
    "X25519MLKEM768": 318.0,
    "SecP256r1MLKEM768": 326.0,
}
CLIENT_US = {
    "X25519": 188.0,
    "P-256": 192.0,
    "X448": 352.0,
    "P-384": 402.0,
    "P-521": 466.0,
    "X25519MLKEM768": 241.0,
    "SecP256r1MLKEM768": 246.0,
}
RSA_EXTRA_US = 520.0
KERNEL_US = 96.0
LEAN_SHARE = 0.6

# Enough for every quantile, and few enough to be drawn quickly.
HISTOGRAM_VALUES = 1000
TIME_SPREAD = 0.12

TEN_BLOCKS = replace(load("groups"), blocks=10, stopping=None)

TrialChange = Callable[[Trial], Trial]


@dataclass(frozen=True)
class World:
    """The behaviour of the made-up machine.

    `slower`: the cost of a server, a front or a server with a `burn`, as a multiple. `cost_us`: the
    server's cost of a connection by its cell's levels, in place of `server_us`.
    """

    server_us: Mapping[str, float] = field(default_factory=lambda: SERVER_US)
    client_us: Mapping[str, float] = field(default_factory=lambda: CLIENT_US)
    noise: float = 0.01
    seed: int = 1
    target: str = "nginx"
    software: str = "nginx/1.22.1"
    managed: bool = True
    unsupported: frozenset[str] = frozenset()
    slower: Mapping[str, float] = field(default_factory=dict)
    change: TrialChange = lambda trial: trial
    cost_us: Callable[[Mapping[str, str]], float] | None = None


def made_run(
    world: World | None = None, quick: bool = False, experiment: Experiment | None = None
) -> RunContents:
    """A run of `groups` in ten blocks or its quick form, or of the experiment given."""
    if world is None and experiment is None:
        return _usual_run(quick)
    if experiment is None:
        experiment = _usual(quick)
    return _made_run(world or World(), experiment)


def _usual(quick: bool) -> Experiment:
    return load("groups", "quick") if quick else TEN_BLOCKS


@cache
def _usual_run(quick: bool) -> RunContents:
    """Most tests use one of these two."""
    return _made_run(World(), _usual(quick))


def _made_run(world: World, experiment: Experiment) -> RunContents:
    plan = make_plan(experiment, seed=world.seed)
    maker = _Maker(world, experiment, np.random.default_rng(world.seed))
    trials = []
    for planned in plan.trials:
        cell = plan.cell(planned.cell)
        if cell.factors.get("group") not in world.unsupported:
            trials.append(world.change(maker.trial(planned, cell)))
        elif planned.block == 0:
            trials.append(_unsupported(planned, cell))
    return RunContents(experiment, plan, environment(world, plan), tuple(trials))


def environment(world: World, plan: Plan) -> Environment:
    """The environment of the made-up run."""
    return Environment(
        created="2026-03-14T09:26:53Z",
        tlslab="0.1.0",
        command=("tlslab", "run", "groups", "--target", world.target),
        target=TargetInfo(
            name=world.target,
            managed=world.managed,
            software=world.software,
            backend="OpenSSL 3.0.22",
            processors=(0,) if world.managed else (),
            host="127.0.0.1",
            path="/document",
        ),
        generator_processors=(1,),
        machine={
            "kernel": "6.1.0",
            "processor": "A processor @ 3.00 GHz",
            "processors": 2,
            "memory_bytes": 8 << 30,
        },
        versions={"tlslab": "0.1.0", "python": "3.11.7", "openssl": "3.6.3", "rustls": "0.23.46"},
        warnings=("load average 1.20 before the run: stop what else runs here",),
    )


def _unsupported(planned: PlannedTrial, cell: Cell) -> Trial:
    reason = Reason("alert_handshake_failure", "the server sent the alert handshake_failure")
    return Trial(
        **dataclasses.asdict(planned),
        factors=dict(cell.factors),
        started="2026-03-14T09:27:00.000+00:00",
        status="unsupported",
        reason=reason,
    )


class _Maker:
    """Makes trials, and draws their noise."""

    def __init__(self, world: World, experiment: Experiment, rng: np.random.Generator) -> None:
        self._world = world
        self._workload = experiment.workload
        self._rng = rng

    def trial(self, planned: PlannedTrial, cell: Cell) -> Trial:
        """A done trial of a cell."""
        runs: dict[RunKind, TrialRun] = {"capacity": self._run(cell, lean=True)}
        if self._workload.client_cost != NO_WINDOW:
            runs["client_cost"] = self._run(cell, lean=False)
        if self._workload.keep_alive is not None:
            runs["keep_alive"] = self._keep_alive_run(cell, self._workload.keep_alive)
        return Trial(
            **dataclasses.asdict(planned),
            factors=dict(cell.factors),
            started="2026-03-14T09:27:00.000+00:00",
            status="done",
            runs=runs,
        )

    def _noisy(self, value: float, share: float = 1.0) -> float:
        return value * float(np.exp(self._rng.normal(0, self._world.noise * share)))

    def _run(self, cell: Cell, lean: bool) -> TrialRun:
        group = _group(cell)
        rsa = RSA_EXTRA_US if cell.factors.get("key", "").startswith("rsa") else 0.0
        places = (cell.factors.get(name, "") for name in ("server", "front", "burn"))
        times = math.prod(self._world.slower.get(place, 1.0) for place in places)
        own = self._world.cost_us
        cost_us = self._world.server_us[group] + rsa if own is None else own(cell.factors)
        server_us = self._noisy(cost_us * times)
        client_us = self._noisy(self._world.client_us[group] * (LEAN_SHARE if lean else 1.0))
        window = self._workload.capacity if lean else self._workload.client_cost
        seconds = window.measure_ms / 1000
        rate = 0.985e6 / server_us
        record = self._record(cell, rate, client_us, seconds, lean)
        server = self._server(rate, server_us, seconds) if self._world.managed else None
        return TrialRun(record, _machine(seconds, rate * server_us, rate * client_us), server)

    def _keep_alive_run(self, cell: Cell, keep_alive: KeepAlive) -> TrialRun:
        """Connections kept open: none ends, and a request has the same cost with any group."""
        seconds = keep_alive.window.measure_ms / 1000
        server_us, client_us = self._noisy(20.0), self._noisy(9.0)
        requests = round(0.985e6 / server_us * seconds)
        run = self._run(cell, lean=False)
        cpu = CpuTime(round(requests * client_us * 0.4), round(requests * client_us * 0.6))
        head, body = requests * 238, requests * self._workload.document_bytes
        record = replace(
            run.record,
            requests=requests,
            spec={
                **run.record.spec,
                "connections": keep_alive.connections,
                "warmup_ms": keep_alive.window.warmup_ms,
                "load": {"open_within_ms": keep_alive.open_within_ms},
            },
            seconds=seconds,
            cpu=cpu,
            workers=(WorkerUsage(cpu, seconds, processor=1),),
            outcomes=Outcomes(keep_alive.connections, 0, keep_alive.connections, {}, {}),
            facts=(),
            bytes=Bytes(0, 0, 0, 0, head, body),
            histograms={},
            summaries={},
        )
        server = self._server(requests / seconds, server_us, seconds, kernel_us=8.0)
        rate = requests / seconds
        machine = _machine(seconds, rate * server_us, rate * client_us)
        return TrialRun(record, machine, server if self._world.managed else None)

    def _record(
        self, cell: Cell, rate: float, client_us: float, seconds: float, lean: bool
    ) -> RunRecord:
        completed = round(rate * seconds)
        connections = self._workload.connections
        facts = _facts(cell)
        kernel = min(0.5, 40.0 / client_us)
        total_us = completed * client_us
        cpu = CpuTime(round(total_us * (1 - kernel)), round(total_us * kernel))
        service_s = connections / rate
        histograms, summaries = self._times(
            service_s * 1e3, min(completed, HISTOGRAM_VALUES), completed
        )
        # The same number in flight before and after the measurement, for half of their lives.
        cut_s = connections * service_s / 2
        hybrid = 2272 if _group(cell).endswith("MLKEM768") else 0
        return RunRecord(
            schema="tlslab.record/1",
            spec={
                "url": "https://127.0.0.1:40001/document",
                "connections": connections,
                "tls": {"server_name": "localhost"},
            },
            backend="rustls",
            versions={"rustls": "0.23.46"},
            environment={"kernel": "6.1.0", "processor": "A processor", "processors": 2},
            address="127.0.0.1:40001",
            preflight=Preflight(
                facts,
                certificate=_certificate(cell),
                status=200,
                body_bytes=self._workload.document_bytes,
                server=self._world.software,
            ),
            outcomes=Outcomes(completed + connections, completed, connections, {}, {}),
            facts=(CountedFacts(**dataclasses.asdict(facts), count=completed),),
            authenticated=completed if not lean else completed // 128,
            requests=completed,
            seconds=seconds,
            cpu=cpu,
            workers=(WorkerUsage(cpu, seconds, processor=1),),
            bytes=Bytes(
                handshake_sent=completed * (320 + hybrid // 2),
                handshake_received=completed * (1180 + hybrid // 2),
                sent=completed * 480,
                received=completed * 6300,
                head=completed * 238,
                body=completed * self._workload.document_bytes,
            ),
            histograms=histograms,
            summaries=summaries,
            intervals=self._intervals(completed, cpu, seconds),
            flight=FlightTimes(completed * service_s, cut_s, 0.0, cut_s),
            verdicts=(Verdict("valid", "nothing is the matter"),),
        )

    def _intervals(self, completed: int, cpu: CpuTime, seconds: float) -> tuple[Interval, ...]:
        slices = round(seconds * 10)
        return tuple(
            Interval(
                at_s=index / 10,
                seconds=0.1,
                completed=round(self._noisy(completed / slices)),
                failed=0,
                cpu=CpuTime(cpu.user_us // slices, cpu.system_us // slices),
            )
            for index in range(slices)
        )

    def _times(
        self, service_ms: float, drawn_n: int, n: int
    ) -> tuple[dict[str, str], dict[str, TimeSummary]]:
        """Histograms of times that add up to `service_ms` on average, and their summaries.

        Of the `n` values `drawn_n` are drawn.
        """
        shares = {
            "connect": 0.05,
            "handshake": 0.75,
            "established": 0.8,
            "first_byte": 0.15,
            "exchange": 0.2,
            "service": 1.0,
        }
        histograms, summaries = {}, {}
        for name, share in shares.items():
            drawn = (
                self._rng.lognormal(-(TIME_SPREAD**2) / 2, TIME_SPREAD, drawn_n)
                * service_ms
                * share
            )
            histograms[name] = encoded_histogram((drawn * 1e6).astype(np.int64))
            mean = service_ms if name == "service" else float(drawn.mean())
            p50, p90, p95, p99, p999 = map(float, np.quantile(drawn, [0.5, 0.9, 0.95, 0.99, 0.999]))
            summaries[name] = TimeSummary(
                n=n,
                min_ms=float(drawn.min()),
                mean_ms=mean,
                sd_ms=float(drawn.std()),
                p50_ms=p50,
                p90_ms=p90,
                p95_ms=p95,
                p99_ms=p99,
                p999_ms=p999,
                max_ms=float(drawn.max()),
            )
        return histograms, summaries

    def _server(
        self, rate: float, server_us: float, seconds: float, kernel_us: float = KERNEL_US
    ) -> ServerUsage:
        kernel_us = self._noisy(kernel_us)
        user, system = rate * (server_us - kernel_us), rate * kernel_us
        at = np.arange(0.2, seconds + 0.01, 0.2)
        return ServerUsage(
            user_us=round(user * seconds),
            system_us=round(system * seconds),
            seconds=seconds,
            memory_bytes=9_400_000,
            processes=2,
            samples=tuple(
                CpuSample(float(t), round(self._noisy(user * t)), round(self._noisy(system * t)))
                for t in at
            ),
        )


def _group(cell: Cell) -> str:
    """The group of a cell; X25519 in experiments that vary none."""
    return cell.factors.get("group", "X25519")


def _facts(cell: Cell) -> Facts:
    return Facts(
        tls=cell.factors["tls"],
        suite=cell.profile.suites[0] if cell.profile.suites else "TLS_AES_256_GCM_SHA384",
        group=_group(cell),
        signature_scheme=next(iter(cell.profile.signature_schemes), "none"),
        kind="full",
        hello_retry_request=False,
    )


def _certificate(cell: Cell) -> Certificate:
    key = level_label("key", cell.factors.get("key", cell.profile.key or ""))
    return Certificate("CN=localhost", "CN=tlslab", key, 1_700_000_000, 1_900_000_000, 1, 420)


def _machine(seconds: float, server_us: float, client_us: float) -> MachineUsage:
    busy = (min(server_us / 1e6, 1.0), min(client_us / 1e6, 1.0))
    used = sum(busy) * seconds * 1e6
    return MachineUsage(
        seconds=seconds,
        user_us=round(used * 0.7),
        system_us=round(used * 0.3),
        idle_us=round(2e6 * seconds - used),
        softirq_us=round(used * 0.05),
        steal_us=0,
        per_processor=tuple(ProcessorUsage(b, b * 0.7, b * 0.3, 0.02, 0.0) for b in busy),
    )
