"""The request for a run, and its result."""

from dataclasses import dataclass
from pathlib import Path

from tlslab.lab.generators.joint_run import LostPolicy
from tlslab.lab.trust import whom_to_trust
from tlslab.model.experiment import Experiment
from tlslab.model.finding import Summary
from tlslab.model.hook_times import READY_S, SETTLE_S
from tlslab.targets.address import LOOPBACK
from tlslab.targets.external import Hook


@dataclass(frozen=True)
class Request:
    """What the user asked for; `targets` are managed targets' names, or one URL.

    `hook` configures the server before each cell, which may take it `ready_s` to be ready again.
    `settle_s` is how long a live server is left alone after a command of a proof.
    Where the experiment has the factor `server`, its levels are the targets, and `targets` repeats
    them. `jdks` are Java installations beside those that benchmarks find. `server_metrics` is the
    URL of a node_exporter beside a server that the lab does not start. `why`: the server's call
    stacks are sampled after the measured trials. `generators` is where load comes from, as
    `lab.generators.choose` reads it; `on_lost_host` what a host that is lost does to a run.
    `proof` is the token that a public server shows to be loaded without bounds.
    `listen` is the address of this machine that the lab's own servers listen on; None: loopback.
    """

    experiment: Experiment
    targets: tuple[str, ...]
    command: tuple[str, ...]
    out: Path | None = None
    resume: Path | None = None
    allow: tuple[str, ...] = ()
    seed: int | None = None
    authority: Path | None = None
    insecure: bool = False
    hook: Hook | None = None
    ready_s: float = READY_S
    settle_s: float = SETTLE_S
    jdks: tuple[Path, ...] = ()
    server_metrics: str | None = None
    why: bool = False
    generators: str | None = None
    on_lost_host: LostPolicy = "fail"
    listen: str | None = None
    proof: str | None = None

    @property
    def external(self) -> bool:
        """Whether the server is one that the lab does not start."""
        return "://" in self.targets[0]

    @property
    def listens_on(self) -> str:
        """The address that the lab's own servers listen on."""
        return self.listen or LOOPBACK

    def trust(self) -> str:
        """Whom to trust for a server that the lab did not start. Raises UsageError."""
        return whom_to_trust(self.authority, self.insecure)


@dataclass(frozen=True)
class Result:
    """A run folder and its summary; `interrupted`: trials of the plan are missing."""

    folder: Path
    summary: Summary
    interrupted: bool
