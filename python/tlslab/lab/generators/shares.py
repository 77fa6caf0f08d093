"""Each host's share of a load: connections, rate, count, processors, seed.

The shares follow a pre-test of the hosts: handshakes in memory on their processors, no server.

Each host's arrivals are an independent Poisson process with its part of the rate, so that their sum
is the Poisson process of the whole. Evenly spaced arrivals are evenly spaced on each host alone.
"""

import copy
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tlslab.domain.errors import EngineError
from tlslab.lab.generators.host import Host, HostFacts, HostLostError

# Long enough for the start of the program not to matter.
MILLISECONDS = 400

# The additional time limit for the program to start and to end, in seconds.
SLACK_S = 30.0


class LostBeforeError(Exception):
    """A host was lost before there was load."""

    def __init__(self, host: Host, reason: str) -> None:
        super().__init__(reason)
        self.host = host
        self.reason = reason


def handshakes_per_processor(hosts: Sequence[Host]) -> dict[str, float]:
    """Handshakes per second on one processor of each machine, by its boot ID.

    Machines are measured at the same time, and each once. Raises EngineError, LostBeforeError.
    """
    machines = {host.facts.boot_id: host for host in reversed(hosts)}
    with ThreadPoolExecutor(max_workers=len(machines)) as pool:
        rates = list(pool.map(_measure, machines.values()))
    return dict(zip(machines, rates, strict=True))


def _measure(host: Host) -> float:
    try:
        return _rate(host)
    except HostLostError as error:
        raise LostBeforeError(host, error.reason) from None


def _rate(host: Host) -> float:
    flags = ["in-memory", "--json", "--duration", f"{MILLISECONDS}ms"]
    if host.facts.processors:
        flags += ["--cpu", str(host.facts.processors[-1])]
    record = host.ask(flags, b"", SLACK_S)
    try:
        rate = float(record["handshakes"]["handshakes_per_s"])
    except (KeyError, TypeError, ValueError):
        rate = 0.0
    if rate <= 0:
        raise EngineError("handshake", f"{host.facts.name} makes no handshakes in memory")
    return rate


# Seeds below 2^53 stay exact in programs that read JSON numbers as floats.
_SEED_BITS = 53


def most_hosts(spec: Mapping[str, Any], hosts: int) -> int:
    """The largest number of hosts that the load can occupy: each needs at least one connection."""
    steps: list[int] = spec.get("load", {}).get("connection_steps", [])
    counts = [int(spec.get("connections", 1)), *steps]
    if (count := spec["stop"].get("count")) is not None:
        counts.append(int(count))
    return max(1, min(hosts, *counts))


def split(
    spec: Mapping[str, Any],
    hosts: Sequence[HostFacts],
    weights: Sequence[float],
    here: str,
) -> list[dict[str, Any]]:
    """One specification for each host; `weights` are the hosts' capacities, in any unit.

    `here`: the boot ID of the machine whose processors the specification names.
    """
    processors = processors_of(spec, hosts, here)
    workers = workers_of(spec, hosts, here)
    counts = whole_parts(int(spec.get("connections", 1)), weights)
    load = spec.get("load", {})
    steps = [whole_parts(level, weights) for level in load.get("connection_steps", [])]
    stops = None if "count" not in spec["stop"] else whole_parts(spec["stop"]["count"], weights)
    traced = whole_parts(load["trace"], weights, least=0) if load.get("trace") else None
    shares = []
    for number, own in enumerate(processors):
        share = copy.deepcopy(dict(spec))
        share["generators"] = len(hosts)
        share["portion"] = weights[number] / sum(weights)
        share["cpus"] = list(own)
        levels = [step[number] for step in steps]
        share["connections"] = max(levels, default=counts[number])
        share["threads"] = min(share["connections"], workers[number])
        if stops is not None:
            share["stop"] = {"count": stops[number]}
        if load:
            # Permission for real-time scheduling on other machines is not known.
            real = load.get("realtime", False) and all(host.boot_id == here for host in hosts)
            share["load"] |= {"realtime": real} if "realtime" in load else {}
            share["load"] |= _load(load, levels, share["portion"], number)
            if traced is not None:
                share["load"]["trace"] = traced[number]
        shares.append(share)
    return shares


def _load(
    load: Mapping[str, Any], levels: Sequence[int], portion: float, number: int
) -> dict[str, Any]:
    """The fields of a load over time that differ between hosts."""
    changed: dict[str, Any] = {}
    if levels:
        changed["connection_steps"] = list(levels)
    if load.get("rate") is not None:
        changed["rate"] = _scaled(load["rate"], portion)
        changed["seed"] = seed_of(int(load.get("seed", 1)), number)
    return changed


def seed_of(seed: int, number: int) -> int:
    """The seed of a host's arrivals, by its number; the first host has the seed of the whole."""
    return seed if number == 0 else random.Random(f"{seed} {number}").getrandbits(_SEED_BITS)


def _scaled(rate: Mapping[str, Any], portion: float) -> dict[str, Any]:
    if "constant" in rate:
        return {"constant": rate["constant"] * portion}
    if "steps" in rate:
        return {"steps": [level * portion for level in rate["steps"]]}
    ramp = rate["ramp"]
    return {"ramp": {**ramp, "from": ramp["from"] * portion, "to": ramp["to"] * portion}}


def processors_of(
    spec: Mapping[str, Any], hosts: Sequence[HostFacts], here: str
) -> list[tuple[int, ...]]:
    """The processors of each host's workers.

    Hosts on one machine divide its processors among themselves. On the machine `here`, these are
    the processors that the specification names, which are the generators' there; on others, all
    that the hosts may use. With fewer processors than hosts, several hosts share one.
    """
    found = []
    for host in hosts:
        mates = [each for each in hosts if each.boot_id == host.boot_id]
        usable = tuple(spec.get("cpus", ())) if host.boot_id == here else host.processors
        place = mates.index(host)
        own = usable[place :: len(mates)]
        found.append(own or usable[place % len(usable) :][:1] if usable else ())
    return found


def workers_of(spec: Mapping[str, Any], hosts: Sequence[HostFacts], here: str) -> list[int]:
    """The number of workers of each host: one for each of its processors, or its part of all."""
    threads = int(spec.get("threads", 1))
    return [
        len(own) or part(threads, len(hosts), number)
        for number, own in enumerate(processors_of(spec, hosts, here))
    ]


def part(total: int, parts: int, number: int) -> int:
    """The part of a total for one of several; at least 1."""
    return max(1, total // parts + (number < total % parts))


def whole_parts(total: int, weights: Sequence[float], least: int = 1) -> list[int]:
    """A total in whole parts by weight, each at least `least`: largest remainders (Hamilton).

    The total is at least `least` times the number of parts.
    """
    rest = total - least * len(weights)
    exact = [rest * weight / sum(weights) for weight in weights]
    parts = [int(each) for each in exact]
    by_remainder = sorted(range(len(parts)), key=lambda i: (parts[i] - exact[i], i))
    for i in by_remainder[: rest - sum(parts)]:
        parts[i] += 1
    return [each + least for each in parts]
