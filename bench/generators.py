"""The generators: how each makes one full handshake and one request per connection, and is read."""

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bench.server import GROUP, SUITE, Server
from tlslab.domain.errors import CannotRunError
from tlslab.servers.programs import require_program


@dataclass(frozen=True)
class Counted:
    """Counts of connections; for generators that count requests only, a request is a connection."""

    completed: int
    failed: int
    # Processor time of the workers alone, by the generator's own count; None if it has none.
    own_cpu_us: float | None = None


Parser = Callable[[str], Counted]


def tlslab_load(output: str) -> Counted:
    """The record of `tlslab-load --json`: the line that is a JSON object."""
    line = next((line for line in output.splitlines() if line.startswith("{")), "{}")
    record = json.loads(line)
    if "outcomes" not in record:
        raise ValueError(f"tlslab-load gave no record: {output.strip()[-400:]}")
    outcomes = record["outcomes"]
    bad = sum(outcomes["failed"].values()) + sum(outcomes["unexpected"].values())
    own = record["cpu"]["user_us"] + record["cpu"]["system_us"]
    return Counted(outcomes["completed"], bad, own)


def tlslab_load_requests(output: str) -> Counted:
    """The requests of the same record; failed connections count as failed requests."""
    of_connections = tlslab_load(output)
    line = next(line for line in output.splitlines() if line.startswith("{"))
    return replace(of_connections, completed=json.loads(line)["requests"])


def ab(output: str) -> Counted:
    """ApacheBench's total; answers other than 2xx have a line only if there were any."""
    completed = _number(r"^Complete requests:\s+(\d+)", output)
    failed = _number(r"^Failed requests:\s+(\d+)", output)
    return Counted(completed, failed + _number(r"^Non-2xx responses:\s+(\d+)", output, 0))


def wrk(output: str) -> Counted:
    """Wrk's total; errors have a separate line only if there were any."""
    completed = _number(r"^\s*(\d+) requests in", output)
    errors = re.search(
        r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output
    )
    failed = sum(map(int, errors.groups())) if errors else 0
    return Counted(completed, failed + _number(r"Non-2xx or 3xx responses: (\d+)", output, 0))


def h2load(output: str) -> Counted:
    """h2load's requests, each on its own connection."""
    succeeded = _number(r"^requests: .* (\d+) succeeded", output)
    return Counted(succeeded, _number(r"^requests: (\d+) total", output) - succeeded)


def httperf(output: str) -> Counted:
    """Httperf's replies with a 2xx status, and its errors."""
    return Counted(_number(r"2xx=(\d+)", output), _number(r"^Errors: total (\d+)", output))


def s_time(output: str) -> Counted:
    """The connections of `openssl s_time -new`, which ends at the first failure."""
    return Counted(_number(r"^(\d+) connections in \S+ real seconds", output), 0)


def _number(pattern: str, text: str, default: int | None = None) -> int:
    found = re.search(pattern, text, re.MULTILINE)
    if found:
        return int(found[1])
    if default is None:
        raise ValueError(f"no '{pattern}' in: {text.strip()[-400:]}")
    return default


CONNECTIONS = 50

# A command for a server, a time in seconds, and the rate of an open loop (0: not one).
Command = Callable[[Server, float, int], list[str]]


@dataclass(frozen=True)
class Generator:
    """One generator; `rates` (connections/s) are tried before the bench if its loop is open."""

    name: str
    command: Command
    parse: Parser
    rates: Sequence[int] = ()
    ours: bool = False

    def answer(self, output: str, code: int) -> Counted:
        """The counts of a finished run. Raises CannotRunError if they are implausible."""
        try:
            counted = self.parse(output)
        except ValueError as error:
            raise CannotRunError(f"{self.name} ended with code {code}: {error}") from error
        if counted.completed == 0:
            raise CannotRunError(f"{self.name} completed nothing: {output.strip()[-400:]}")
        return counted


def _tlslab(*flags: str) -> Command:
    program = require_program("tlslab-load")

    def command(server: Server, seconds: float, rate: int) -> list[str]:
        load = [program, "--json", "-c", str(CONNECTIONS), "-d", f"{seconds:g}s", *flags]
        offer = ["--tls", "1.3", "--group", GROUP, "--suite", SUITE]
        return [*load, *offer, "--ca", str(server.ca_file), server.url]

    return command


def _ab(server: Server, seconds: float, rate: int) -> list[str]:
    # -t sets -n to 50,000, so that -n must follow it.
    limits = ["-t", f"{seconds:.0f}", "-n", "10000000"]
    return ["ab", "-q", "-d", "-S", "-c", str(CONNECTIONS), *limits, "-f", "TLS1.3", server.url]


def _wrk(server: Server, seconds: float, rate: int) -> list[str]:
    close = ["-H", "Connection: close"]
    return ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:.0f}s", *close, server.url]


def _h2load(server: Server, seconds: float, rate: int) -> list[str]:
    """As many clients as requests, so that each client makes one request; bursts of 50 clients.

    h2load cannot open a new connection for each request: a client keeps its connection for all of
    its requests. `-r` with as many clients as requests is the closest substitute.
    """
    total = str(round(rate * seconds))
    period = f"{1000 * CONNECTIONS // rate}ms"
    bursts = ["-r", str(CONNECTIONS), "--rate-period", period]
    offer = ["--h1", "--groups", GROUP, "--tls13-ciphers", SUITE]
    return ["h2load", "-c", total, "-n", total, *bursts, *offer, server.url]


def _httperf(server: Server, seconds: float, rate: int) -> list[str]:
    """One call per connection, at a rate.

    httperf's only other loop makes one connection at a time. In both loops httperf polls and never
    sleeps.
    """
    where = ["--server", server.host, "--port", str(server.tls_port), "--uri", server.path]
    amount = ["--rate", str(rate), "--num-conns", str(round(rate * seconds)), "--num-calls", "1"]
    # Without a time-out, httperf waits forever for connections that it lost when it was late.
    return ["httperf", "--hog", "--timeout", "5", *where, *amount, "--ssl", "--ssl-no-reuse"]


def _s_time(server: Server, seconds: float, rate: int) -> list[str]:
    address = f"{server.host}:{server.tls_port}"
    what = ["-new", "-www", server.path, "-time", f"{seconds:.0f}"]
    return ["openssl", "s_time", "-connect", address, "-tls1_3", *what]


def generators() -> list[Generator]:
    """All generators. Raises CannotRunError with the names of missing ones."""
    names = ("ab", "wrk", "h2load", "httperf", "openssl")
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        remedy = "run scripts/install-debian.sh bench"
        raise CannotRunError(f"not installed: {', '.join(missing)}", remedy)
    return [
        Generator("tlslab-load --lean", _tlslab("--lean"), tlslab_load, ours=True),
        Generator("tlslab-load", _tlslab(), tlslab_load, ours=True),
        Generator("ab", _ab, ab),
        Generator("wrk", _wrk, wrk),
        Generator("h2load", _h2load, h2load, rates=(500, 1000, 1500, 2000)),
        Generator("httperf", _httperf, httperf, rates=(600, 1000, 1400, 1800)),
        Generator("openssl s_time", _s_time, s_time),
    ]
