"""Placement of generators: all at once, each on a node of its own, or none."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ray
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group

from tlslab.domain.errors import CannotRunError
from tlslab.domain.wording import counted

# A newly started node joins within this time; a group that can be placed needs less than a second.
PLACE_S = 10.0
LOOK_S = 0.5

NODE_LABEL = "ray.io/node-id"


@dataclass(frozen=True)
class Place:
    """A node: its identity in the cluster, its name, its address, and its processors for Ray."""

    node: str
    name: str
    address: str
    processors: int


@dataclass(frozen=True)
class Placed:
    """A group of places that this driver holds; the driver owns all processors of each node."""

    group: PlacementGroup
    places: tuple[Place, ...]

    def free(self) -> None:
        """Frees the places."""
        remove_placement_group(self.group)


def place(count: int | None) -> Placed:
    """`count` nodes, or all that have processors (None), at once. Raises CannotRunError."""
    there, usable = _nodes_for(count or 1)
    wanted = len(usable) if count is None else count
    if not 0 < wanted <= len(usable):
        raise CannotRunError(
            f"{counted(max(wanted, 1), 'node')} with processors are needed for generators, the "
            f"cluster has {len(usable)}: {_words(there)}",
            "`ray start --address=HOST:PORT` on one more machine adds a node",
        )
    chosen = tuple(usable[:wanted])
    group = placement_group(
        [{"CPU": each.processors} for each in chosen],
        strategy="STRICT_SPREAD",
        bundle_label_selector=[{NODE_LABEL: each.node} for each in chosen],
    )
    if not group.wait(PLACE_S):
        remove_placement_group(group)
        free = ray.available_resources().get("CPU", 0.0)
        raise CannotRunError(
            f"no place for generators within {PLACE_S:.0f} s: all processors of "
            f"{', '.join(each.name for each in chosen)} are needed, {free:g} are free in the "
            f"cluster: {_words(there)}",
            "wait until other jobs on it have ended",
        )
    return Placed(group, chosen)


def _nodes_for(count: int) -> tuple[list[Place], list[Place]]:
    """All nodes, and the usable ones; waits a while until there are `count`."""
    deadline = time.monotonic() + PLACE_S
    while True:
        there = _nodes()
        usable = _usable(there)
        if len(usable) >= count or time.monotonic() > deadline:
            return there, usable
        time.sleep(LOOK_S)


def _nodes() -> list[Place]:
    """All live nodes, this one last."""
    own = ray.get_runtime_context().get_node_id()
    found = [_place(each) for each in ray.nodes() if each["Alive"]]
    return sorted(found, key=lambda each: (each.node == own, each.name, each.address))


def _place(described: dict[str, Any]) -> Place:
    return Place(
        node=described["NodeID"],
        name=described["NodeManagerHostname"],
        address=described["NodeManagerAddress"],
        processors=int(described["Resources"].get("CPU", 0)),
    )


def _usable(there: Sequence[Place]) -> list[Place]:
    """Nodes with processors, without the lab's own node unless it is the only one."""
    own = ray.get_runtime_context().get_node_id()
    able = [each for each in there if each.processors > 0]
    return [each for each in able if each.node != own] or able


def _words(there: Sequence[Place]) -> str:
    return "; ".join(f"{each.name} ({each.address}): CPU {each.processors}" for each in there)
