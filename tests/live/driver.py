"""A driver on the head of a cluster: an engine on each host, started at one instant; JSON lines.

`python -m live.driver ADDRESS COUNT [SPEC]` prints the hosts. With a specification it makes that
load from each host, and prints the result of each. A line on standard input ends the load early.
"""

import json
import os
import select
import sys
import time
from typing import Any

from tlslab.domain.errors import TlslabError
from tlslab.lab.generators.cluster import cluster_hosts
from tlslab.lab.generators.host import Conversation, Host, HostLostError

ROUNDS = 50

# Seconds from the choice of the start to the start. Other tests may use the processors meanwhile.
LEAD_NS = 2_000_000_000


def say(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def offset_ns(host: Host) -> tuple[int, int]:
    """The lead of a host's clock over this machine's, and the duration of the quickest call."""
    rounds = []
    for _ in range(ROUNDS):
        before = time.monotonic_ns()
        there = host.now_ns()
        after = time.monotonic_ns()
        rounds.append((after - before, there - (before + after) // 2))
    took, ahead = min(rounds)
    return ahead, took


def begun(hosts: list[Host], spec: dict[str, Any]) -> dict[str, Conversation]:
    """A load from each host, started at one instant; by host name."""
    running: dict[str, Conversation] = {host.facts.name: host.open(spec, []) for host in hosts}
    for name, conversation in running.items():
        while not any(event["event"] == "ready" for event in conversation.events(1.0)):
            pass
        say(ready=name)
    at_ns = time.monotonic_ns() + LEAD_NS
    for host in hosts:
        ahead, took = offset_ns(host)
        say(offset_of=host.facts.name, ahead_ns=ahead, took_ns=took)
        at_ns = max(at_ns, time.monotonic_ns() + LEAD_NS)
    offsets = {host.facts.name: offset_ns(host)[0] for host in hosts}
    for name, conversation in running.items():
        conversation.start(at_ns + offsets[name], time.time())
    return running


def load(hosts: list[Host], spec: dict[str, Any]) -> None:
    running = begun(hosts, spec)
    while running:
        if asked_to_end():
            for conversation in running.values():
                conversation.interrupt()
        for name, conversation in list(running.items()):
            try:
                for event in conversation.events(0.2):
                    say(host=name, **event)
                if conversation.ended():
                    record = conversation.result()
                    say(ended=name, outcomes=record["outcomes"], started=record.get("started"))
                    del running[name]
            except HostLostError as error:
                say(lost=name, reason=error.reason)
                del running[name]


def asked_to_end() -> bool:
    """Whether standard input has a line."""
    ready, _, _ = select.select([sys.stdin], [], [], 0)
    return bool(ready) and bool(os.read(sys.stdin.fileno(), 100))


def main() -> int:
    address, count, *spec = sys.argv[1:]
    try:
        hosts = cluster_hosts(address, None if count == "all" else int(count))
    except TlslabError as error:
        say(error=error.message, remedy=error.remedy)
        return error.exit_code
    try:
        for host in hosts:
            facts = host.facts
            say(name=facts.name, processors=facts.processors, architecture=facts.architecture)
        if spec:
            load(hosts, json.loads(spec[0]))
        return 0
    finally:
        for host in hosts:
            host.close()


if __name__ == "__main__":
    sys.exit(main())
