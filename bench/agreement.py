"""Do the two back ends cost the server the same? Interleaved blocks on one nginx.

Both keep it busy all the time, with connections of which the signature (RSA-2048) costs the server
more than either client: it never sleeps, and hardly ever has to wake its client. Where it is not
busy, what it pays depends on who of the two sleeps when (ADR 0041).

BENCH_BLOCKS and BENCH_SECONDS change the number of blocks (10) and a run's length (5).
"""

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.arms import equal, interleaved, show
from bench.child import run
from bench.intervals import ratio
from bench.server import GROUP, PAGE, SUITE, Page, Server, serving
from bench.settings import SECONDS
from tlslab.lab.accounting import read_process, used
from tlslab.lab.programs import require_program
from tlslab.model.errors import CannotRunError

BACKENDS = ("rustls", "openssl")
CONNECTIONS = 50
KEY = "rsa-2048"

# The server's processor has to be at least so busy with either client.
SATURATED = 0.97

# The server's cost may differ by so much at most, or a narrow interval has to contain 1.
TOLERANCE = 0.03


def agreement() -> bool:
    """Measures and prints; whether the two cost the server the same.

    Raises CannotRunError when a client did not keep the server busy.
    """
    with (
        tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
        serving(Path(folder), Page(PAGE.document_bytes, key=KEY)) as server,
    ):
        load = _Load(server)
        costs = interleaved(BACKENDS, load.server_cost)
    for backend, shares in load.busy.items():
        if median(shares) < SATURATED:
            raise CannotRunError(
                f"the {backend} client kept the server's processor {median(shares):.0%} busy, "
                f"not {SATURATED:.0%}: the two would not be compared at the same load",
                "use an idle machine",
            )
    found = ratio(costs["openssl"], costs["rustls"])
    question = "server CPU per handshake at its limit, openssl client over rustls client"
    bar = f"equal within {TOLERANCE:.0%}, or 1 within the interval"
    return show(question, found, bar, equal(found, TOLERANCE))


@dataclass
class _Load:
    """One server, loaded by either client; how busy its processor was in each run (0 to 1)."""

    server: Server
    busy: dict[str, list[float]] = field(default_factory=dict)

    def server_cost(self, backend: str) -> float:
        """Processor time of nginx's worker per completed connection, in microseconds."""
        server = self.server
        command = [require_program("tlslab-load"), "--json", "-c", str(CONNECTIONS)]
        command += ["-d", f"{SECONDS:g}s", "--tls", "1.3", "--group", GROUP, "--suite", SUITE]
        command += ["--sigalg", "rsa_pss_rsae_sha256", "--backend", backend, "--client", "library"]
        before = read_process(server.worker)
        done = run([*command, "--ca", str(server.ca_file), server.url], SECONDS, server.worker)
        after = read_process(server.worker)
        if before is None or after is None:
            raise CannotRunError("nginx's worker has ended")
        self.busy.setdefault(backend, []).append(done.busy.server_processor)
        # In flight at the end: had their handshake, too, or most of it.
        outcomes = json.loads(done.output.splitlines()[-1])["outcomes"]
        handshakes = outcomes["completed"] + outcomes["in_flight_at_stop"]
        if handshakes == 0:
            raise CannotRunError(f"{backend} completed nothing")
        return sum(used(before, after)) / float(handshakes)
