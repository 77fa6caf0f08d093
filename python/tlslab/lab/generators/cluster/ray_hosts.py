"""The nodes of a Ray cluster as hosts: one actor on each, with the engine of this machine."""

import itertools
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import ray
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

import tlslab
from tlslab.domain.errors import CannotRunError
from tlslab.lab.generators import ray_node
from tlslab.lab.generators.cluster.calls import Heartbeat, RayCalls
from tlslab.lab.generators.cluster.connecting import connect, disconnect
from tlslab.lab.generators.cluster.placing import Place, Placed, place
from tlslab.lab.generators.cluster.shipping import Shipment
from tlslab.lab.generators.host import Host, HostFacts, HostLostError
from tlslab.lab.generators.remote import RemoteHost
from tlslab.lab.programs import require_program

PROGRAM = "tlslab-load"

# After this long without a call, a node ends its engines and itself: its head is dead or cut off.
# The head calls each node once a second.
HEAD_SILENT_S = 15.0

# A node's first answer includes the start of a Python process there.
START_S = 60.0

# The head waits for events, asks for the clock, and interrupts, all at once.
CALLS_AT_ONCE = 8


def cluster_hosts(address: str, count: int | None) -> list[Host]:
    """Hosts of the cluster at `address`, one per node: `count` of them, or all (None).

    `address` is `ray://HOST:PORT`, `HOST:PORT` or `auto`. The lab itself runs on a node of the
    cluster, which makes load only if it is the only node. Raises UsageError for an address that
    names no cluster or has no authentication, CannotRunError if the cluster cannot be reached or
    has too few nodes.
    """
    connect(address)
    cluster = _Cluster()
    try:
        return cluster.open(count)
    except BaseException:
        cluster.close()
        raise


class _Cluster:
    """The resources held in the cluster until the last host is closed."""

    def __init__(self) -> None:
        self._placed: Placed | None = None
        self._heartbeat = Heartbeat()
        self._calls: list[RayCalls] = []
        self._lock = threading.Lock()

    def open(self, count: int | None) -> list[Host]:
        """Places one actor on each node, all or none, and gives each the engine."""
        self._placed = place(count)
        ray.cloudpickle.register_pickle_by_value(tlslab)
        actors = ray.remote(ray_node.Node)
        for index, each in enumerate(self._placed.places):
            strategy = PlacementGroupSchedulingStrategy(self._placed.group, index)
            actor = actors.options(
                num_cpus=1,
                max_concurrency=CALLS_AT_ONCE,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy=strategy,
            ).remote(HEAD_SILENT_S)
            self._calls.append(RayCalls(actor, each.name, self._closed))
        found = [self._facts(calls, each) for calls, each in self._pairs()]
        self._heartbeat.keep(self._calls)
        shipment = Shipment(require_program(PROGRAM))
        for calls, facts in zip(self._calls, found, strict=True):
            shipment.deliver(calls, facts)
        names = unique([facts["hostname"] for facts in found], self._placed.places)
        return [
            RemoteHost(
                HostFacts(
                    name, tuple(facts["processors"]), facts["architecture"], facts["boot_id"]
                ),
                calls,
            )
            for name, facts, calls in zip(names, found, self._calls, strict=True)
        ]

    def _pairs(self) -> "itertools.zip_longest[tuple[RayCalls, Place]]":
        assert self._placed is not None
        return itertools.zip_longest(self._calls, self._placed.places)

    def _facts(self, calls: RayCalls, each: Place) -> dict[str, Any]:
        """A node's facts, as the node reports them. Raises CannotRunError."""
        try:
            facts: dict[str, Any] = calls("facts", PROGRAM, seconds=START_S)
        except HostLostError as error:
            raise CannotRunError(f"no generator starts on {each.name}: {error.reason}") from None
        if facts["nice"] > 0:
            raise CannotRunError(
                f"{each.name} runs generators at niceness {facts['nice']}, behind all else on it",
                "start Ray there with RAY_worker_niceness=0",
            )
        return facts

    def _closed(self, calls: RayCalls) -> None:
        with self._lock:
            if calls in self._calls:
                self._calls.remove(calls)
            last = not self._calls
        if last:
            self.close()

    def close(self) -> None:
        """Ends all actors, frees their place, and leaves the cluster."""
        self._heartbeat.stop()
        for calls in self._calls:
            calls.kill()
        self._calls = []
        if self._placed is not None:
            self._placed.free()
            self._placed = None
        disconnect()


def unique(names: Sequence[str], places: Sequence[Place]) -> list[str]:
    """Host names, with the address if several hosts have the same name."""
    counts = Counter(names)
    return [
        name if counts[name] == 1 else f"{name} ({each.address})"
        for name, each in zip(names, places, strict=True)
    ]
