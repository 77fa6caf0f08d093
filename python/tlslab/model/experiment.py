"""An experiment: factors, their levels, what is pinned, what is left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tlslab.model.stopping import Stopping
from tlslab.model.workload import Workload

# What the server is and how it is set up (model.deployment), and what the client asks for.
SERVER_FACTORS = (
    "server", "copy", "burn", "front", "processors", "workers", "dh_bits", "jdk", "connector",
)  # fmt: skip
CLIENT_FACTORS = ("tls", "key", "group", "suite", "http", "resume", "connections")

# In the order in which they stand in a cell's key, the first varying slowest.
FACTOR_NAMES = (*SERVER_FACTORS, *CLIENT_FACTORS)

MATRIX = "matrix"
CAPACITY = "capacity"
BENCHMARK = "benchmark"

# The kind of a file that names none.
DEFAULT_KIND = MATRIX


@dataclass(frozen=True)
class Factor:
    """Something that is varied, and the levels that it takes, in the order of the tables."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Exclusion:
    """Cells that are not planned: those that have all these levels."""

    when: Mapping[str, str]
    reason: str


@dataclass(frozen=True)
class ConditionalFactor:
    """A factor that belongs to the cells with all these levels; others have the level `otherwise`.

    That is no exclusion: there is nothing that could have been tried.
    """

    factor: str
    when: Mapping[str, str]
    otherwise: str


@dataclass(frozen=True)
class Pin:
    """What the cells with all these levels force beside their own factors.

    `key` and `groups` give way to factors of these names; `backend` is the client's TLS library.
    """

    when: Mapping[str, str]
    suites: tuple[str, ...] = ()
    signature_schemes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    key: str | None = None
    backend: str | None = None


@dataclass(frozen=True)
class Experiment:
    """One question, as a plan can be made of it.

    `baseline` names a level for some factors: each cell is compared with the cell that has these
    levels and is otherwise equal. `blocks` is the number of randomised passes over all cells.
    `published` names the data file of a study whose ratios are shown beside ours. `kind` says what
    is done with a cell; `settings` are those of a kind beside the workload, None for `matrix`. With
    `stopping` a run of the kind `matrix` ends when its answer is known, and `blocks` are the most.
    """

    name: str
    title: str
    factors: tuple[Factor, ...]
    baseline: Mapping[str, str]
    workload: Workload
    blocks: int
    exclusions: tuple[Exclusion, ...] = ()
    pins: tuple[Pin, ...] = ()
    only: tuple[ConditionalFactor, ...] = ()
    published: str | None = None
    quick: bool = False
    kind: str = DEFAULT_KIND
    settings: Any = None
    stopping: Stopping | None = None

    def levels(self, factor: str) -> tuple[str, ...]:
        """The levels of a factor; none for one that is not varied."""
        return next((each.levels for each in self.factors if each.name == factor), ())
