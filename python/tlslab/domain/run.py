"""A run: the content of one run folder before analysis."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tlslab.contract.primitives import Primitives
from tlslab.domain.deployment import Deployment
from tlslab.domain.experiment import Experiment
from tlslab.domain.plan import Plan
from tlslab.domain.proof import SeenTls
from tlslab.domain.selftest import Selftest
from tlslab.domain.stacks import CellStacks
from tlslab.domain.trial import Trial
from tlslab.domain.wording import counted


@dataclass(frozen=True)
class TargetInfo:
    """The measured server.

    `name` is `reference`, `nginx` or the URL of a server that the lab did not start; `software` its
    product and version, `backend` its TLS library; both may come from the server and are hostile.
    `processors`: those to which the lab pinned it. `managed`: the lab started it. `warm_up_ms`: how
    long each fresh server was under load, by new connections, before its first trial, in
    milliseconds. `fresh_per_trial`: each trial had a fresh server; otherwise each block had one.
    """

    name: str
    managed: bool
    software: str
    backend: str
    processors: tuple[int, ...]
    host: str
    path: str
    warm_up_ms: int = 0
    fresh_per_trial: bool = False


@dataclass(frozen=True)
class Deployed:
    """A deployment of the run, and the facts of its server.

    `failure`: the reason that the deployment could not be set up; empty if it could.
    """

    deployment: Deployment
    target: TargetInfo
    failure: str = ""


@dataclass(frozen=True)
class Sitting:
    """A stretch of a run: from its beginning, or a resumption, to the next one.

    `number`: 0 for the first. `machine`: the facts of the machine, as in `Environment`.
    """

    number: int
    begun: str
    tlslab: str
    command: tuple[str, ...]
    machine: Mapping[str, Any]


@dataclass(frozen=True)
class Environment:
    """Place, time and conditions of the run; `warnings` are preflight's, each with its remedy.

    `target` stands for all servers of the run; `deployments` has each of them (none in runs of
    older versions, which had one). `primitives`: the cost of each primitive on the generator's
    processor; None if not measured. `selftest`: the result of a self-test of this machine before
    the run, by the same version; None if none was kept. `found`: the observed behaviour of the
    configurations of a proof. `later`: the sittings after the first.
    """

    created: str
    tlslab: str
    command: tuple[str, ...]
    target: TargetInfo
    generator_processors: tuple[int, ...]
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    primitives: Primitives | None = None
    deployments: tuple[Deployed, ...] = ()
    selftest: Selftest | None = None
    found: tuple[SeenTls, ...] = ()
    later: tuple[Sitting, ...] = ()

    @property
    def sittings(self) -> tuple[Sitting, ...]:
        """All sittings of the run, in their order."""
        first = Sitting(0, self.created, self.tlslab, self.command, self.machine)
        return (first, *self.later)

    @property
    def machines(self) -> Mapping[int, int]:
        """The machine of each sitting, by the sitting's number; both count from 0.

        A machine is one start of a kernel: after another, nothing is known to be as it was.
        """
        starts = [each.machine.get(BOOT, "") for each in self.sittings]
        order = list(dict.fromkeys(starts))
        return {
            each.number: order.index(start)
            for each, start in zip(self.sittings, starts, strict=True)
        }

    def primitives_in(self, sitting: int) -> Primitives | None:
        """The cost of the primitives where a sitting was; None on another kind of machine."""
        of = {each.number: kind_of_machine(each) for each in self.sittings}
        return self.primitives if of.get(sitting) == kind_of_machine(self) else None

    def target_of(self, deployment: Deployment | None) -> TargetInfo:
        """The server of a deployment."""
        for deployed in self.deployments:
            if deployed.deployment == deployment:
                return deployed.target
        return self.target


def by_cell(plan: Plan, trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    """The trials of each cell of a plan, by its key."""
    grouped: dict[str, list[Trial]] = {cell.key: [] for cell in plan.cells}
    for trial in trials:
        grouped.setdefault(trial.cell, []).append(trial)
    return grouped


def on_one_machine(trials: Sequence[Trial], machines: Mapping[int, int]) -> tuple[Trial, ...]:
    """The trials without those whose block was begun again on another machine.

    The values of a block are compared with one another, so a block belongs to the machine of its
    last trial. `machines`: the machine of each sitting.
    """
    of = {trial.block: machines[trial.sitting] for trial in trials}
    return tuple(trial for trial in trials if machines[trial.sitting] == of[trial.block])


@dataclass(frozen=True)
class RunContents:
    """The content of a run folder: experiment, plan, environment, all trials, stack samples."""

    experiment: Experiment
    plan: Plan
    environment: Environment
    trials: tuple[Trial, ...]
    stacks: tuple[CellStacks, ...] = ()

    @property
    def by_cell(self) -> dict[str, list[Trial]]:
        """The trials of each cell, by its key."""
        return by_cell(self.plan, self.trials)


# The fact of a machine that is a size, and the one that names a start of its kernel.
MEMORY = "memory_bytes"
BOOT = "boot"

# The facts that define a kind of machine. Rates of different kinds say nothing about a change.
_KIND_OF_MACHINE = ("system", "architecture", "processor", "usable_processors", "virtual")


def kind_of_machine(where: Environment | Sitting) -> tuple[str, ...]:
    """The facts that machines of one kind share."""
    return tuple(str(where.machine.get(name)) for name in _KIND_OF_MACHINE)


def machine_words(where: Environment | Sitting) -> str:
    """The kind of machine, in words."""
    facts = where.machine
    named = [str(facts[name]) for name in ("processor", "architecture") if name in facts]
    usable = facts.get("usable_processors", facts.get("processors"))
    used = [counted(usable, "processor")] if isinstance(usable, int) else []
    system = [str(facts["system"])] if "system" in facts else []
    virtual = ["virtual"] if facts.get("virtual") else []
    return ", ".join([*named, *used, *system, *virtual]) or "an unknown machine"


def instant(text: str) -> datetime:
    """The time in UTC; a text without a zone is in UTC. Raises ValueError."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"no time in ISO 8601: {text!r:.60}") from None
