"""The generators: the command of each, and how its output is read."""

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


def ab_counts(output: str) -> Counted:
    """ApacheBench's total; answers other than 2xx have a line only if there were any."""
    completed = _number(r"^Complete requests:\s+(\d+)", output)
    failed = _number(r"^Failed requests:\s+(\d+)", output)
    return Counted(completed, failed + _number(r"^Non-2xx responses:\s+(\d+)", output, 0))


def wrk_counts(output: str) -> Counted:
    """Wrk's total; errors have a separate line only if there were any."""
    completed = _number(r"^\s*(\d+) requests in", output)
    errors = re.search(
        r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output
    )
    failed = sum(map(int, errors.groups())) if errors else 0
    return Counted(completed, failed + _number(r"Non-2xx or 3xx responses: (\d+)", output, 0))


def h2load_counts(output: str) -> Counted:
    """h2load's requests, each on its own connection."""
    succeeded = _number(r"^requests: .* (\d+) succeeded", output)
    return Counted(succeeded, _number(r"^requests: (\d+) total", output) - succeeded)


def httperf_counts(output: str) -> Counted:
    """Httperf's replies with a 2xx status, and its errors."""
    return Counted(_number(r"2xx=(\d+)", output), _number(r"^Errors: total (\d+)", output))


def s_time_counts(output: str) -> Counted:
    """The connections of `openssl s_time -new`, which ends at the first failure."""
    return Counted(_number(r"^(\d+) connections in \S+ real seconds", output), 0)


def _number(pattern: str, text: str, default: int | None = None) -> int:
    found = re.search(pattern, text, re.MULTILINE)
    if found:
        return int(found[1])
    if default is None:
        raise ValueError(f"no '{pattern}' in: {text.strip()[-400:]}")
    return default


# A command for a server, a time in seconds, and the rate of an open loop (0: not one).
Command = Callable[[Server, float, int], list[str]]


@dataclass(frozen=True)
class Generator:
    """One generator; `rates` (connections/s) are tried before the bench if its loop is open."""

    name: str
    command: Command
    parse: Parser
    rates: Sequence[int] = ()
    # Of ours: the command for a number of connections, or of requests if they are kept.
    number: Callable[[Server, int], list[str]] | None = None
    # The name of our generator of which this is an earlier build.
    build_of: str | None = None

    @property
    def ours(self) -> bool:
        """Whether this is today's tlslab-load."""
        return self.number is not None

    def answer(self, output: str, code: int) -> Counted:
        """The counts of a finished run. Raises CannotRunError if they are implausible."""
        try:
            counted = self.parse(output)
        except ValueError as error:
            raise CannotRunError(f"{self.name} ended with code {code}: {error}") from error
        if counted.completed == 0:
            raise CannotRunError(f"{self.name} completed nothing: {output.strip()[-400:]}")
        return counted


def tlslab(name: str, connections: int, flags: Sequence[str], kept: bool = False) -> Generator:
    """tlslab-load with these flags; `kept`: requests are counted, on connections that stay open."""
    load = [require_program("tlslab-load"), "--json", "-c", str(connections), *flags]
    requests = ["--requests-per-connection"]

    def to(server: Server, *amount: str) -> list[str]:
        return [*load, *amount, "--ca", str(server.ca_file), server.url]

    def command(server: Server, seconds: float, rate: int) -> list[str]:
        return to(server, "-d", f"{seconds:g}s", *([*requests, "unlimited"] if kept else []))

    def number(server: Server, number: int) -> list[str]:
        if not kept:
            return to(server, "-t", "1", "-n", str(number))
        each = [*requests, str(number // connections)]
        return to(server, "-t", "1", "-n", str(connections), *each)

    parse = tlslab_load_requests if kept else tlslab_load
    return Generator(name, command, parse, number=number)


def before(ours: Generator, program: str) -> Generator:
    """The same load by an earlier build of tlslab-load, which is neither ours nor a rival."""

    def command(server: Server, seconds: float, rate: int) -> list[str]:
        return [program, *ours.command(server, seconds, rate)[1:]]

    name = f"before: {ours.name}"
    return Generator(name, command, ours.parse, build_of=ours.name)


def ab(connections: int, version: str) -> Generator:
    """ApacheBench, a connection for each request."""

    def command(server: Server, seconds: float, rate: int) -> list[str]:
        # -t sets -n to 50,000, so that -n must follow it.
        limits = ["-t", f"{seconds:.0f}", "-n", "10000000"]
        return ["ab", "-q", "-d", "-S", "-c", str(connections), *limits, "-f", version, server.url]

    return Generator("ab", command, ab_counts)


def wrk(connections: int, kept: bool = False) -> Generator:
    """wrk, with a connection for each request unless they are kept."""
    close = [] if kept else ["-H", "Connection: close"]

    def command(server: Server, seconds: float, rate: int) -> list[str]:
        return ["wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s", *close, server.url]

    return Generator("wrk", command, wrk_counts)


def h2load_kept(connections: int, *flags: str) -> Generator:
    """h2load on connections that stay open."""

    def command(server: Server, seconds: float, rate: int) -> list[str]:
        load = ["h2load", *flags, "-t1", f"-c{connections}", "-D", f"{seconds:.0f}"]
        return [*load, "--groups", GROUP, "--tls13-ciphers", SUITE, server.url]

    return Generator(" ".join(("h2load", *flags)), command, h2load_counts)


def h2load(connections: int) -> Generator:
    """h2load with as many clients as requests, so that each makes one request; in bursts.

    h2load cannot open a new connection for each request: a client keeps its connection for all of
    its requests. `-r` with as many clients as requests is the closest substitute.
    """

    def command(server: Server, seconds: float, rate: int) -> list[str]:
        total = str(round(rate * seconds))
        period = f"{1000 * connections // rate}ms"
        bursts = ["-r", str(connections), "--rate-period", period]
        offer = ["--h1", "--groups", GROUP, "--tls13-ciphers", SUITE]
        return ["h2load", "-c", total, "-n", total, *bursts, *offer, server.url]

    return Generator("h2load", command, h2load_counts, rates=(500, 1000, 1500, 2000))


def httperf() -> Generator:
    """Httperf with one call per connection, at a rate.

    httperf's only other loop makes one connection at a time. In both loops httperf polls and never
    sleeps.
    """

    def command(server: Server, seconds: float, rate: int) -> list[str]:
        where = ["--server", server.host, "--port", str(server.tls_port), "--uri", server.path]
        total = str(round(rate * seconds))
        amount = ["--rate", str(rate), "--num-conns", total, "--num-calls", "1"]
        # Without a time-out, httperf waits forever for connections that it lost when it was late.
        return ["httperf", "--hog", "--timeout", "5", *where, *amount, "--ssl", "--ssl-no-reuse"]

    return Generator("httperf", command, httperf_counts, rates=(600, 1000, 1400, 1800))


def s_time() -> Generator:
    """Openssl s_time: one connection at a time."""

    def command(server: Server, seconds: float, rate: int) -> list[str]:
        address = f"{server.host}:{server.tls_port}"
        what = ["-new", "-www", server.path, "-time", f"{seconds:.0f}"]
        return ["openssl", "s_time", "-connect", address, "-tls1_3", *what]

    return Generator("openssl s_time", command, s_time_counts)


PROGRAMS = ("ab", "wrk", "h2load", "httperf", "openssl")


def require_rivals() -> None:
    """Raises CannotRunError with the names of missing programs."""
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        remedy = "run scripts/install-debian.sh bench"
        raise CannotRunError(f"not installed: {', '.join(missing)}", remedy)
