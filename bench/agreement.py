"""Do the two back ends cost the server the same? Interleaved blocks on one nginx.

Both load it at one rate, which keeps neither busy: a server that is always behind finds several
connections at each look and needs less for each, and the faster client would bring it there.

BENCH_BLOCKS and BENCH_SECONDS change the number of blocks (10) and a run's length (5).
"""

import json
import random
import tempfile
from pathlib import Path

from bench.child import run
from bench.intervals import Interval, ratio
from bench.server import GROUP, SUITE, Server, serving
from bench.settings import BLOCKS, SECONDS, SEED
from tlslab.lab.accounting import read_process, used
from tlslab.lab.programs import require_program
from tlslab.model.errors import CannotRunError

BACKENDS = ("rustls", "openssl")
CONNECTIONS = 200
RATE = 500

# The server's cost may differ by so much at most, or the interval has to contain 1.
TOLERANCE = 0.03


def agreement() -> bool:
    """Measures and prints; whether the server cannot tell the two apart."""
    costs: dict[str, dict[int, float]] = {name: {} for name in BACKENDS}
    order = random.Random(SEED)
    with (
        tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
        serving(Path(folder)) as server,
    ):
        for block in range(BLOCKS):
            for backend in order.sample(BACKENDS, len(BACKENDS)):
                costs[backend][block] = server_cost(server, backend)
    found = ratio(costs["openssl"], costs["rustls"])
    met = agrees(found)
    print(f"server CPU per handshake, openssl client over rustls client: {found:.3f}")
    print(f"  equal within 3 %, or 1 within the interval: {'yes' if met else 'NO'}")
    return met


def agrees(found: Interval) -> bool:
    """Whether a ratio is 1 as far as can be told."""
    return found.low <= 1 <= found.high or abs(found.value - 1) <= TOLERANCE


def server_cost(server: Server, backend: str) -> float:
    """Processor time of nginx's worker per completed connection, in microseconds."""
    command = [require_program("tlslab-load"), "--json", "-c", str(CONNECTIONS)]
    command += [
        "--rate",
        str(RATE),
        "-d",
        f"{SECONDS:g}s",
        "--tls",
        "1.3",
        "--group",
        GROUP,
        "--suite",
        SUITE,
    ]
    command += ["--sigalg", "ecdsa_secp256r1_sha256", "--backend", backend]
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
