"""The generators: the command of each for one full handshake and one request per connection."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench import parsers
from bench.server import GROUP, SUITE, Server
from tlslab.domain.errors import CannotRunError
from tlslab.lab.programs import require_program

CONNECTIONS = 50

# A command for a server, a time in seconds, and the rate of an open loop (0: not one).
Command = Callable[[Server, float, int], list[str]]


@dataclass(frozen=True)
class Generator:
    """One generator; `rates` (connections/s) are tried before the bench if its loop is open."""

    name: str
    command: Command
    parse: parsers.Parser
    rates: Sequence[int] = ()
    ours: bool = False

    def answer(self, output: str, code: int) -> parsers.Counted:
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
        Generator("tlslab-load --lean", _tlslab("--lean"), parsers.tlslab_load, ours=True),
        Generator("tlslab-load", _tlslab(), parsers.tlslab_load, ours=True),
        Generator("ab", _ab, parsers.ab),
        Generator("wrk", _wrk, parsers.wrk),
        Generator("h2load", _h2load, parsers.h2load, rates=(500, 1000, 1500, 2000)),
        Generator("httperf", _httperf, parsers.httperf, rates=(600, 1000, 1400, 1800)),
        Generator("openssl s_time", _s_time, parsers.s_time),
    ]
