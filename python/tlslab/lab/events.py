"""What the laboratory reports to those who watch it. It prints nothing itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlslab.model.capacity import Step
from tlslab.model.plan import Plan
from tlslab.model.trial import Trial


@dataclass(frozen=True)
class RunStarted:
    """The plan stands and its folder is made; `done` trials were finished by an earlier start.

    `target` is the server that is measured; None where there is none. `at_least`: the
    run may end after this time in seconds; None where it makes all trials of the plan.
    `sampling_s`: the time for samples of call stacks after the trials.
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
    """Preflight found something that the reader must know."""

    message: str


@dataclass(frozen=True)
class Switched:
    """A command has brought a live server to a configuration."""

    configuration: str
    command: str


@dataclass(frozen=True)
class Unchanged:
    """A live server was seen to do the same before and after the command that changes it."""

    message: str


@dataclass(frozen=True)
class BlockStarted:
    """A fresh server was started for a block, counted from 0."""

    block: int


@dataclass(frozen=True)
class TrialStarted:
    """A cell's turn."""

    block: int
    cell: str


@dataclass(frozen=True)
class Pace:
    """One second of a run: rates per second, connections in flight, failures since the start.

    The percentiles are service times of that second in milliseconds; None when nothing completed.
    """

    connections_per_s: float
    requests_per_s: float
    in_flight: int
    failed: int
    service_p50_ms: float | None
    service_p99_ms: float | None

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
        )


@dataclass(frozen=True)
class Rate:
    """How a run is going."""

    cell: str
    kind: str
    pace: Pace


@dataclass(frozen=True)
class TrialEnded:
    """A trial is in the folder."""

    trial: Trial


@dataclass(frozen=True)
class Skipped:
    """Planned trials that will not be run, and why."""

    trials: int
    reason: str


@dataclass(frozen=True)
class Sampled:
    """The call stacks of a cell's server were sampled, or were not, for this reason."""

    cell: str
    number: int
    of: int
    reason: str


@dataclass(frozen=True)
class NotSampled:
    """No call stack can be sampled here, and why."""

    reason: str


@dataclass(frozen=True)
class Left:
    """Steps done, steps still to come at most, and how long those take at most."""

    done: int
    steps: int
    seconds: float


@dataclass(frozen=True)
class StepsStarted:
    """A capacity experiment begins; how many steps its cells take is found out on the way."""

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
    """A step is in the folder."""

    trial: Trial
    left: Left


Event = (
    RunStarted
    | Warned
    | Switched
    | Unchanged
    | BlockStarted
    | TrialStarted
    | Rate
    | TrialEnded
    | Skipped
    | StepsStarted
    | StepStarted
    | StepEnded
    | Sampled
    | NotSampled
)
PaceListener = Callable[[Pace], None]
Observer = Callable[[Event], None]
