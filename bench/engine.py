"""Costs on an nginx at its limit: the server's by back end, the client's by number of workers.

Closed loops keep the server busy all the time. A busy server never sleeps, and hardly ever wakes
its client. The cost of a connection then has the least noise on both sides, and does not depend on
which side sleeps when (ADR 0016).

Exit codes: 0 every bar met, 1 a bar missed, 3 could not run. BENCH_BLOCKS and BENCH_SECONDS change
the number of blocks (10) and a run's length (5).
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bench.blocks import SECONDS, equal, interleaved, no_more, ratio, show
from bench.child import run
from bench.server import GROUP, PAGE, SUITE, Page, Server, serving
from tlslab.domain.errors import CannotRunError, TlslabError
from tlslab.lab.metering.processes import read_process, used
from tlslab.servers.programs import require_program

CONNECTIONS = 50

# The minimum busy share of the server's processor with every arm.
SATURATED = 0.97


@dataclass
class AtLimit:
    """One server, loaded by several arms; the busy share of its processor in each run (0 to 1)."""

    server: Server
    busy: dict[str, list[float]] = field(default_factory=dict)

    def load(self, arm: str, options: Sequence[str]) -> dict[str, Any]:
        """The record of one run of `tlslab-load` with these options.

        Raises CannotRunError if nothing was completed.
        """
        command = [require_program("tlslab-load"), "--json", "-c", str(CONNECTIONS)]
        command += ["-d", f"{SECONDS:g}s", "--tls", "1.3", "--group", GROUP, "--suite", SUITE]
        command += [*options, "--ca", str(self.server.ca_file), self.server.url]
        done = run(command, SECONDS, self.server.worker)
        self.busy.setdefault(arm, []).append(done.busy.server_processor)
        record: dict[str, Any] = json.loads(done.output.splitlines()[-1])
        if record["outcomes"]["completed"] == 0:
            raise CannotRunError(f"{arm}: nothing was completed")
        return record

    def require_saturated(self) -> None:
        """Raises CannotRunError if an arm did not keep the server busy."""
        for arm, shares in self.busy.items():
            if median(shares) < SATURATED:
                raise CannotRunError(
                    f"{arm} kept the server's processor {median(shares):.0%} busy, not "
                    f"{SATURATED:.0%}: the arms would not be compared at the same load",
                    "use an idle machine",
                )


BACKENDS = ("rustls", "openssl")
KEY = "rsa-2048"

# Limit of the difference in the server's cost; beyond it, a narrow interval has to contain 1.
COST_TOLERANCE = 0.03


def equal_cost() -> bool:
    """Measures and prints; returns whether the two cost the server the same.

    Raises CannotRunError if a client did not keep the server busy.
    """
    with (
        tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
        serving(Path(folder), Page(PAGE.document_bytes, key=KEY)) as server,
    ):
        limit = AtLimit(server)
        costs = interleaved(BACKENDS, partial(server_cost, limit))
    limit.require_saturated()
    found = ratio(costs["openssl"], costs["rustls"])
    question = "server CPU per handshake at its limit, openssl client over rustls client"
    bar = f"equal within {COST_TOLERANCE:.0%}, or 1 within the interval"
    return show(question, found, bar, equal(found, COST_TOLERANCE))


def server_cost(limit: AtLimit, backend: str) -> float:
    """Processor time of nginx's worker per completed connection, in microseconds."""
    options = ["--sigalg", "rsa_pss_rsae_sha256", "--backend", backend, "--client", "library"]
    before = read_process(limit.server.worker)
    record = limit.load(f"the {backend} client", options)
    after = read_process(limit.server.worker)
    if before is None or after is None:
        raise CannotRunError("nginx's worker has ended")
    # Connections in flight at the end had all or most of their handshake, too.
    outcomes = record["outcomes"]
    handshakes = outcomes["completed"] + outcomes["in_flight_at_stop"]
    return sum(used(before, after)) / float(handshakes)


THREADS = (1, 2)

# Two workers need twice the space in the caches.
WORKERS_TOLERANCE = 0.05


def scaling() -> bool:
    """Measures and prints; returns whether two workers have the cost per connection of one.

    Raises CannotRunError if the workers did not keep the server busy.
    """
    with (
        tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
        serving(Path(folder)) as server,
    ):
        limit = AtLimit(server)
        costs = interleaved(THREADS, partial(client_cost, limit))
    limit.require_saturated()
    found = ratio(costs[2], costs[1])
    question = "client CPU per connection at the server's limit, 2 workers over 1"
    bar = f"at most {WORKERS_TOLERANCE:.0%} more, or 1 within the interval"
    return show(question, found, bar, no_more(found, WORKERS_TOLERANCE))


def client_cost(limit: AtLimit, threads: int) -> float:
    """Processor time of the workers per completed connection, in microseconds."""
    record = limit.load(f"{threads} workers", ["-t", str(threads)])
    cpu = record["cpu"]
    return (int(cpu["user_us"]) + int(cpu["system_us"])) / int(record["outcomes"]["completed"])


def main() -> int:
    """Runs both; returns the exit code."""
    try:
        met = [equal_cost(), scaling()]
    except TlslabError as error:
        print(f"bench: {error.message}" + (f"; {error.remedy}" if error.remedy else ""))
        return error.exit_code
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
