"""The server's cost with the two back ends: are they equal? Interleaved blocks on one nginx.

Both clients keep nginx busy all the time: a connection's signature (RSA-2048) costs the server more
than the client. Therefore nginx never sleeps, and hardly ever has to wake its client (ADR 0041).

BENCH_BLOCKS and BENCH_SECONDS change the number of blocks (10) and a run's length (5).
"""

import tempfile
from functools import partial
from pathlib import Path

from bench.arms import equal, interleaved, show
from bench.at_limit import AtLimit
from bench.intervals import ratio
from bench.server import PAGE, Page, serving
from tlslab.domain.errors import CannotRunError
from tlslab.lab.process_times import read_process, used

BACKENDS = ("rustls", "openssl")
KEY = "rsa-2048"

# Limit of the difference in the server's cost; beyond it, a narrow interval has to contain 1.
TOLERANCE = 0.03


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
    bar = f"equal within {TOLERANCE:.0%}, or 1 within the interval"
    return show(question, found, bar, equal(found, TOLERANCE))


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
