"""The nodes of a Ray cluster as hosts: one actor on each, with the engine of this machine."""

import hashlib
import platform
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

import tlslab
from tlslab.domain.errors import CannotRunError, EngineError
from tlslab.domain.wording import counted
from tlslab.lab.generators import ray_node
from tlslab.lab.generators.cluster.connecting import connect, disconnect
from tlslab.lab.generators.host import Host, HostFacts, HostLostError
from tlslab.lab.generators.ray_node import RemoteHost
from tlslab.servers.programs import require_program

BEAT_S = 1.0

# Part of Ray's message about an actor whose node died. Each message about a dead actor names the
# node.
NODE_DIED = "its node has died"


class RayCalls:
    """The methods of one actor, as `remote.Calls`. A lost host stays lost."""

    def __init__(self, actor: Any, name: str, closed: Callable[["RayCalls"], None]) -> None:
        self._actor = actor
        self._name = name
        self._closed = closed
        self._lost = ""
        self._beat: Any = None

    def __call__(self, method: str, *arguments: Any, seconds: float) -> Any:
        """The result of the method on the node. Raises HostLostError."""
        if self._lost:
            raise HostLostError(self._lost)
        try:
            return ray.get(getattr(self._actor, method).remote(*arguments), timeout=seconds)
        except GetTimeoutError:
            self._lost = f"no answer within {seconds:.0f} s"
        except ray.exceptions.RayTaskError as error:
            cause = " ".join(f"{type(error.cause).__name__}: {error.cause}".split())[:300]
            raise EngineError("engine_failed", f"{self._name}: {cause}") from None
        except RayError as error:
            self._lost = _why(error)
        raise HostLostError(self._lost)

    def beat(self) -> None:
        """Reports to the node that its head is alive, unless the last call is still under way."""
        if self._lost:
            return
        with suppress(RayError):
            if self._beat is None or ray.wait([self._beat], timeout=0)[0]:
                self._beat = self._actor.beat.remote()

    def kill(self) -> None:
        """Ends the actor, and with it all engines on its node."""
        self._lost = self._lost or "it was closed"
        with suppress(RayError):
            ray.kill(self._actor)

    def close(self) -> None:
        """See `remote.Calls`."""
        self.kill()
        self._closed(self)


class Heartbeat:
    """A thread that calls each node once a second."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, all_calls: Sequence[RayCalls]) -> None:
        """Starts the calls."""
        self._thread = threading.Thread(target=self._run, args=(tuple(all_calls),), daemon=True)
        self._thread.start()

    def _run(self, all_calls: Sequence[RayCalls]) -> None:
        while not self._stop.wait(BEAT_S):
            for calls in all_calls:
                calls.beat()

    def stop(self) -> None:
        """Ends the calls."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()


def _why(error: RayError) -> str:
    """The cause of an actor's loss in a few words; Ray's own message has many lines."""
    if NODE_DIED in str(error):
        return "its node died, or cannot be reached"
    if isinstance(error, ray.exceptions.ActorUnavailableError):
        return "it cannot be reached"
    return "its process died"


DELIVER_S = 60.0


class Shipment:
    """A program of this machine, which goes into the cluster's object store at most once."""

    def __init__(self, program: str) -> None:
        self._name = Path(program).name
        self._content = Path(program).read_bytes()
        self.sha256 = hashlib.sha256(self._content).hexdigest()
        self._stored: Any = None

    def deliver(self, calls: RayCalls, facts: dict[str, Any]) -> None:
        """Gives a node the program. Raises CannotRunError, HostLostError."""
        host = facts["hostname"]
        if facts["sha256"] == self.sha256:
            calls("use", facts["program"], seconds=DELIVER_S)
            return
        if facts["architecture"] != platform.machine():
            raise CannotRunError(
                f"{host} is {facts['architecture']}, this machine {platform.machine()}: its "
                f"{self._name} does not run there",
                "use generators of this machine's architecture",
            )
        if self._stored is None:
            self._stored = ray.put(self._content)
        refusal = calls("install", self._name, self._stored, self.sha256, seconds=DELIVER_S)
        if refusal:
            raise CannotRunError(f"{host}: {refusal}")


# A newly started node joins within this time; a group that can be placed needs less than a second.
PLACE_S = 10.0
LOOK_S = 0.5

NODE_LABEL = "ray.io/node-id"


@dataclass(frozen=True)
class HostSlot:
    """A node: its identity in the cluster, its name, its address, and its processors for Ray."""

    node: str
    name: str
    address: str
    processors: int


@dataclass(frozen=True)
class Placed:
    """A group of places that this driver holds; the driver owns all processors of each node."""

    group: PlacementGroup
    places: tuple[HostSlot, ...]

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


def _nodes_for(count: int) -> tuple[list[HostSlot], list[HostSlot]]:
    """All nodes, and the usable ones; waits a while until there are `count`."""
    deadline = time.monotonic() + PLACE_S
    while True:
        there = _nodes()
        usable = _usable(there)
        if len(usable) >= count or time.monotonic() > deadline:
            return there, usable
        time.sleep(LOOK_S)


def _nodes() -> list[HostSlot]:
    """All live nodes, this one last."""
    own = ray.get_runtime_context().get_node_id()
    found = [_place(each) for each in ray.nodes() if each["Alive"]]
    return sorted(found, key=lambda each: (each.node == own, each.name, each.address))


def _place(described: dict[str, Any]) -> HostSlot:
    return HostSlot(
        node=described["NodeID"],
        name=described["NodeManagerHostname"],
        address=described["NodeManagerAddress"],
        processors=int(described["Resources"].get("CPU", 0)),
    )


def _usable(there: Sequence[HostSlot]) -> list[HostSlot]:
    """Nodes with processors, without the lab's own node unless it is the only one."""
    own = ray.get_runtime_context().get_node_id()
    able = [each for each in there if each.processors > 0]
    return [each for each in able if each.node != own] or able


def _words(there: Sequence[HostSlot]) -> str:
    return "; ".join(f"{each.name} ({each.address}): CPU {each.processors}" for each in there)


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
        found = [
            self._facts(calls, each)
            for calls, each in zip(self._calls, self._placed.places, strict=True)
        ]
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

    def _facts(self, calls: RayCalls, each: HostSlot) -> dict[str, Any]:
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


def unique(names: Sequence[str], places: Sequence[HostSlot]) -> list[str]:
    """Host names, with the address if several hosts have the same name."""
    counts = Counter(names)
    return [
        name if counts[name] == 1 else f"{name} ({each.address})"
        for name, each in zip(names, places, strict=True)
    ]
