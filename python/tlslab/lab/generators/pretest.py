"""The pre-test of hosts: the rate of handshakes in memory on their processors, without a server."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tlslab.domain.errors import EngineError
from tlslab.lab.generators.host import Host, HostLostError

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
