"""Events that the laboratory reports to observers. The laboratory prints nothing itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tlslab.domain.capacity import Step
from tlslab.domain.codec import from_json
from tlslab.domain.plan import Plan
from tlslab.domain.stopping import Forecast
from tlslab.domain.totals import Totals
from tlslab.domain.trial import Trial

_Part = TypeVar("_Part")


@dataclass(frozen=True)
class RunStarted:
    """The plan and its folder exist; `done` trials were finished by an earlier start.

    `target`: the measured server; None without a server. `at_least`: the time in seconds after
    which the run may end; None if it makes all trials of the plan. `sampling_s`: the time for
    samples of call stacks after the trials.
    """

    plan: Plan
    target: str | None
    folder: Path
    done: int
    seconds_per_trial: float
    at_least: float | None = None
    sampling_s: float = 0.0


@dataclass(frozen=True)
class Warned:
    """A warning of preflight for the reader."""

    message: str


@dataclass(frozen=True)
class Switched:
    """A command has switched a live server to a configuration."""

    configuration: str
    command: str


@dataclass(frozen=True)
class Unchanged:
    """A live server behaved the same before and after the command that should change it."""

    message: str


@dataclass(frozen=True)
class BlockStarted:
    """A fresh server was started for a block, counted from 0."""

    block: int


@dataclass(frozen=True)
class Forecasted:
    """The forecast of the run's length, from its first blocks."""

    forecast: Forecast


@dataclass(frozen=True)
class Repeated:
    """A trial was disturbed, is set aside and measured again at once."""

    cell: str


@dataclass(frozen=True)
class TrialStarted:
    """A trial of a cell starts."""

    block: int
    cell: str


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of times of one second, in milliseconds."""

    p50_ms: float
    p99_ms: float

    @classmethod
    def of(cls, times: Mapping[str, Any] | None) -> "Percentiles | None":
        """From a `progress` event; None if nothing ended in that second."""
        return cls(float(times["p50_ms"]), float(times["p99_ms"])) if times else None


@dataclass(frozen=True)
class Pace:
    """One second of a run: rates per second, connections in flight, failures since the start.

    The percentiles are those of that second; None if nothing completed. `host`: the generator's
    host, empty for this machine. `left_s` is None if the run ends by count. `totals`: counts since
    the start of the measurement; None if the engine does not report them. `server_processors`: the
    number of processors that the server's processes kept busy; None if they are not on this
    machine. `parts`: the pace of each generator of a pool that still runs, by host; None for the
    single generator of this machine.
    """

    connections_per_s: float
    requests_per_s: float
    in_flight: int
    failed: int
    service_p50_ms: float | None
    service_p99_ms: float | None
    at_s: float = 0.0
    left_s: float | None = None
    offered_per_s: float | None = None
    waiting: int = 0
    response: Percentiles | None = None
    exchange: Percentiles | None = None
    host: str = ""
    totals: Totals | None = None
    server_processors: float | None = field(default=None, compare=False)
    parts: tuple["Pace", ...] | None = None

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> "Pace":
        """From the engine's `progress` event."""
        service = event["service"] or {}
        return cls(
            connections_per_s=float(event["connections_per_s"]),
            requests_per_s=float(event["requests_per_s"]),
            in_flight=int(event["in_flight"]),
            failed=int(event["failed"]),
            service_p50_ms=service.get("p50_ms"),
            service_p99_ms=service.get("p99_ms"),
            at_s=float(event.get("at_s", 0.0)),
            left_s=event.get("left_s"),
            offered_per_s=event.get("offered_per_s"),
            waiting=int(event.get("waiting", 0)),
            response=Percentiles.of(event.get("response")),
            exchange=Percentiles.of(event.get("exchange")),
            host=str(event.get("host", "")),
            totals=_totals(event),
            parts=_parts(event, cls.of),
        )

    @property
    def service(self) -> Percentiles | None:
        """The service times of that second."""
        if self.service_p50_ms is None or self.service_p99_ms is None:
            return None
        return Percentiles(self.service_p50_ms, self.service_p99_ms)


@dataclass(frozen=True)
class EngineEnded:
    """The end of a generator's run, with the totals of its record; `host` and `parts` as in Pace.

    `at_s` is the length of its measurement.
    """

    host: str
    totals: Totals | None
    at_s: float = 0.0
    parts: tuple["EngineEnded", ...] | None = None

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> "EngineEnded":
        """From the engine's `ended` event."""
        return cls(
            host=str(event.get("host", "")),
            totals=_totals(event),
            at_s=float(event.get("at_s", 0.0)),
            parts=_parts(event, cls.of),
        )


@dataclass(frozen=True)
class GeneratorLost:
    """The loss of a generator of a pool: the name of its host, and the reason."""

    host: str
    reason: str

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> "GeneratorLost":
        """From the pool's `lost` event."""
        return cls(str(event["host"]), str(event["reason"]))


def _parts(
    event: Mapping[str, Any], of: Callable[[Mapping[str, Any]], _Part]
) -> tuple[_Part, ...] | None:
    """The reports of the generators of a pool, without those lost or already ended.

    None without a pool.
    """
    if "hosts" not in event:
        return None
    there = (host for host in event["hosts"] if not host.get("lost"))
    return tuple(of(host) for host in there if host["event"] == event["event"])


def _totals(event: Mapping[str, Any]) -> Totals | None:
    found = event.get("totals")
    return None if found is None else from_json(found, Totals)


# The reports of one run of the engine, or of a pool of engines.
EngineReport = Pace | EngineEnded | GeneratorLost


@dataclass(frozen=True)
class Rate:
    """The current pace of a run."""

    cell: str
    kind: str
    pace: Pace


@dataclass(frozen=True)
class RunEnded:
    """The end of a run of the engine; a trial may have several."""

    cell: str
    kind: str
    ended: EngineEnded


@dataclass(frozen=True)
class TrialEnded:
    """A finished trial, already in the folder."""

    trial: Trial


@dataclass(frozen=True)
class Skipped:
    """Planned trials that will not be run, and the reason."""

    trials: int
    reason: str


@dataclass(frozen=True)
class Sampled:
    """A cell's samples of the server's call stacks, or the reason for their absence."""

    cell: str
    number: int
    of: int
    reason: str


@dataclass(frozen=True)
class NotSampled:
    """The reason that no call stacks can be sampled here."""

    reason: str


@dataclass(frozen=True)
class Left:
    """Steps done, the largest number of remaining steps, and their longest duration."""

    done: int
    steps: int
    seconds: float


@dataclass(frozen=True)
class StepsStarted:
    """A capacity experiment starts; the number of its steps becomes known during the run."""

    plan: Plan
    target: str
    folder: Path
    left: Left


@dataclass(frozen=True)
class StepStarted:
    """A cell's next step."""

    cell: str
    step: Step
    left: Left


@dataclass(frozen=True)
class StepEnded:
    """A finished step, already in the folder."""

    trial: Trial
    left: Left


Event = (
    RunStarted
    | Warned
    | Switched
    | Unchanged
    | BlockStarted
    | Forecasted
    | Repeated
    | TrialStarted
    | Rate
    | RunEnded
    | GeneratorLost
    | TrialEnded
    | Skipped
    | StepsStarted
    | StepStarted
    | StepEnded
    | Sampled
    | NotSampled
)
ReportListener = Callable[[EngineReport], None]
Observer = Callable[[Event], None]


def of_run(cell: str, kind: str, report: EngineReport) -> Event:
    """A report of a cell's run as an event of the laboratory."""
    if isinstance(report, GeneratorLost):
        return report
    return Rate(cell, kind, report) if isinstance(report, Pace) else RunEnded(cell, kind, report)
