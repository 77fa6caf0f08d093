"""What the laboratory tells those who watch it. It prints nothing itself."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tlslab.model.plan import Plan
from tlslab.model.record import RunKind, Trial


@dataclass(frozen=True)
class RunBegun:
    """The plan stands and its folder is made; `done` trials were finished by an earlier start."""

    plan: Plan
    target: str
    folder: Path
    done: int
    seconds_per_trial: float


@dataclass(frozen=True)
class Warned:
    """Preflight found something that the reader must know."""

    message: str


@dataclass(frozen=True)
class BlockBegun:
    """A fresh server was started for a block, counted from 0."""

    block: int


@dataclass(frozen=True)
class TrialBegun:
    """A cell's turn."""

    block: int
    cell: str


@dataclass(frozen=True)
class Rate:
    """How a run is going."""

    cell: str
    kind: RunKind
    connections_per_s: float


@dataclass(frozen=True)
class TrialEnded:
    """A trial is in the folder."""

    trial: Trial


@dataclass(frozen=True)
class Skipped:
    """Planned trials that will not be run, and why."""

    trials: int
    reason: str


Event = RunBegun | Warned | BlockBegun | TrialBegun | Rate | TrialEnded | Skipped
Observer = Callable[[Event], None]
