"""Do the two back ends cost the server the same? Interleaved blocks on one nginx.

Both load it at one rate, which keeps neither busy: a server that is always behind finds several
connections at each look and needs less for each, and the faster client would bring it there.

BENCH_BLOCKS and BENCH_SECONDS change the number of blocks (10) and a run's length (5).
"""

import json
import tempfile
from functools import partial
from pathlib import Path

from bench.arms import equal, interleaved, show
from bench.child import run
from bench.intervals import ratio
from bench.server import GROUP, SUITE, Server, serving
from bench.settings import SECONDS
from tlslab.lab.accounting import read_process, used
from tlslab.lab.programs import require_program
from tlslab.model.errors import CannotRunError

BACKENDS = ("rustls", "openssl")
CONNECTIONS = 200
RATE = 500

# The server's cost may differ by so much at most, or a narrow interval has to contain 1.
TOLERANCE = 0.03


def agreement() -> bool:
    """Measures and prints; whether the two cost the server the same."""
    with (
        tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
        serving(Path(folder)) as server,
    ):
        costs = interleaved(BACKENDS, partial(server_cost, server))
    found = ratio(costs["openssl"], costs["rustls"])
    question = "server CPU per handshake, openssl client over rustls client"
    bar = f"equal within {TOLERANCE:.0%}, or 1 within the interval"
    return show(question, found, bar, equal(found, TOLERANCE))


def server_cost(server: Server, backend: str) -> float:
    """Processor time of nginx's worker per completed connection, in microseconds."""
    command = [require_program("tlslab-load"), "--json", "-c", str(CONNECTIONS)]
    command += ["--rate", str(RATE), "-d", f"{SECONDS:g}s", "--tls", "1.3", "--group", GROUP]
    command += ["--suite", SUITE, "--sigalg", "ecdsa_secp256r1_sha256", "--backend", backend]
    before = read_process(server.worker)
    done = run([*command, "--ca", str(server.ca_file), server.url], SECONDS, server.worker)
    after = read_process(server.worker)
    if before is None or after is None:
        raise CannotRunError("nginx's worker has ended")
    # In flight at the end: had their handshake, too, or most of it.
    outcomes = json.loads(done.output.splitlines()[-1])["outcomes"]
    handshakes = outcomes["completed"] + outcomes["in_flight_at_stop"]
    if handshakes == 0:
        raise CannotRunError(f"{backend} completed nothing")
    return sum(used(before, after)) / float(handshakes)
