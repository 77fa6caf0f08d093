"""A run: the content of one run folder before analysis."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tlslab.model.deployment import Deployment
from tlslab.model.experiment import Experiment
from tlslab.model.plan import Plan
from tlslab.model.primitives import Primitives
from tlslab.model.proof import Found
from tlslab.model.selftest import Selftest
from tlslab.model.stacks import CellStacks
from tlslab.model.trial import Trial


@dataclass(frozen=True)
class TargetInfo:
    """The server that was measured.

    `name` is `reference`, `nginx` or the URL of a server that the lab did not start; `software` its
    product and version, `backend` its TLS library; both may come from the server and are hostile.
    `processors` are those that the lab pinned it to; `managed`: whether the lab started it.
    `warm_up_ms` is how long each fresh one was under load, by new connections, before its first
    trial, in milliseconds; `fresh_per_trial` whether each trial had one of its own, and not each
    block.
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
    """A deployment of the run, and what it was: the server's own facts.

    `failure` says why it could not be set up; empty when it could.
    """

    deployment: Deployment
    target: TargetInfo
    failure: str = ""


@dataclass(frozen=True)
class Environment:
    """Where and how the run was made; `warnings` are preflight's, each with its remedy.

    `target` stands for all servers of the run, `deployments` has each of them (none in runs of
    older versions, which had one). `primitives` are what each primitive costs on the generator's
    processor; None where they were not measured. `selftest` is what the machine was found to tell
    apart before the run, by the same version; None where no such result was kept. `found` is
    what the configurations of a proof were seen to do.
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
    found: tuple[Found, ...] = ()

    def target_of(self, deployment: Deployment | None) -> TargetInfo:
        """The server of a deployment."""
        for deployed in self.deployments:
            if deployed.deployment == deployment:
                return deployed.target
        return self.target


@dataclass(frozen=True)
class RunContents:
    """The content of a run folder: experiment, plan, environment, all trials, stack samples."""

    experiment: Experiment
    plan: Plan
    environment: Environment
    trials: tuple[Trial, ...]
    stacks: tuple[CellStacks, ...] = ()
