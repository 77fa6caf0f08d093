"""The subject of a proof: which server, which client, which configurations; what decides."""

from dataclasses import dataclass
from typing import Literal

from tlslab.domain.configuration import Configuration
from tlslab.domain.experiment import Experiment

# Who connects: full handshakes, and handshakes that resume a session if the server allows it.
NEW = "new"
RETURNING = "returning"

# `connections`: a mix of new and returning clients, by the share of returning ones.
Measure = Literal["connections", "new", "returning", "requests", "handshake"]

# The measures that decide the verdict; the others are only shown.
DECIDING: tuple[Measure, ...] = ("connections", "requests")


@dataclass(frozen=True)
class ProofSettings:
    """The subject of a proof.

    `server`: the managed target, or the URL of a live server. `client`: the known client whose
    connections are measured. `margin`: the largest difference that counts as none; `returning`: how
    many connections are those of returning clients; both as shares. `configurations`: baseline and
    candidate of a managed server. `apply` and `revert`: the commands that switch a live server.
    `may_lose`: known clients that need not connect any more.
    """

    server: str
    client: str
    margin: float
    returning: float
    configurations: tuple[Configuration, ...] = ()
    may_lose: tuple[str, ...] = ()
    apply: str = ""
    revert: str = ""

    def configuration(self, name: str) -> Configuration | None:
        """The configuration of that name; None for a live server."""
        return next((each for each in self.configurations if each.name == name), None)


def settings_of(experiment: Experiment) -> ProofSettings:
    """The settings of an experiment of the kind `proof`."""
    assert isinstance(experiment.settings, ProofSettings)
    return experiment.settings


def needed(experiment: Experiment) -> tuple[Measure, ...]:
    """The measures that a verdict needs; requests only if the load keeps connections open."""
    kept = experiment.workload.keep_alive is not None
    return tuple(each for each in DECIDING if kept or each != "requests")
