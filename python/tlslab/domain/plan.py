"""A plan: the cells of an experiment and the order of their trials."""

from collections.abc import Mapping
from dataclasses import dataclass

from tlslab.domain.deployment import Deployment
from tlslab.domain.profile import Profile


@dataclass(frozen=True)
class Cell:
    """One combination of levels; `key` is `tls=1.3,key=ecdsa-p256,group=X25519`.

    `deployment` is None in plans of older versions, whose runs had one server.
    """

    key: str
    factors: Mapping[str, str]
    profile: Profile
    deployment: Deployment | None = None


@dataclass(frozen=True)
class Excluded:
    """A combination of levels that is not tried, and the reason."""

    factors: Mapping[str, str]
    reason: str


@dataclass(frozen=True)
class PlannedTrial:
    """One run of one cell.

    `trial` counts from 0 over the whole plan, `block` and `position` (within the block) from 0.
    """

    trial: int
    block: int
    position: int
    cell: str


@dataclass(frozen=True)
class Plan:
    """All cells, all exclusions, all trials in their order; the same seed gives the same plan."""

    seed: int
    blocks: int
    cells: tuple[Cell, ...]
    excluded: tuple[Excluded, ...]
    trials: tuple[PlannedTrial, ...]

    def cell(self, key: str) -> Cell:
        """The cell with this key. Raises KeyError when there is none."""
        for cell in self.cells:
            if cell.key == key:
                return cell
        raise KeyError(key)
