"""The server's cost of an ordinary client's behaviour on the wire, over the default client's.

Interleaved blocks on one nginx with an ECDSA certificate, whose processor is busy all the time. The
server's processor time per connection and its rate are compared with those of the default client;
docs/clients-on-the-wire.md has the result. There is no bar: the result is the ratios.

BENCH_BLOCKS and BENCH_SECONDS change the number of blocks (10) and a run's length (5).
"""

import sys
import tempfile
from pathlib import Path

from bench.blocks import interleaved, ratio
from bench.engine import AtLimit
from bench.server import serving
from tlslab.domain.errors import CannotRunError, TlslabError
from tlslab.lab.metering.processes import read_process, used

DEFAULT = "default"
WAYS = {
    DEFAULT: [],
    "--close fin": ["--close", "fin"],
    "--finished separate": ["--finished", "separate"],
    "--client library": ["--client", "library"],
    "all three": ["--close", "fin", "--finished", "separate", "--client", "library"],
}


def main() -> int:
    """Measures and prints; returns the exit code."""
    try:
        with tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder:
            compare(Path(folder))
    except TlslabError as error:
        print(f"bench: {error.message}" + (f"; {error.remedy}" if error.remedy else ""))
        return error.exit_code
    return 0


def compare(folder: Path) -> None:
    """Prints the ratio of each variant to the default. Raises CannotRunError."""
    rates: dict[str, dict[int, float]] = {way: {} for way in WAYS}
    with serving(folder) as server:
        limit = AtLimit(server)

        def cost(way: str) -> float:
            cpu_us, rate = one_run(limit, way)
            rates[way][len(rates[way])] = rate
            return cpu_us

        costs = interleaved(list(WAYS), cost)
    limit.require_saturated()
    print(
        "over the default client: nginx's processor time per connection; connections/s at its limit"
    )
    for way in list(WAYS)[1:]:
        cpu, rate = ratio(costs[way], costs[DEFAULT]), ratio(rates[way], rates[DEFAULT])
        print(f"  {way:20} {cpu:.3f}   {rate:.3f}")


def one_run(limit: AtLimit, way: str) -> tuple[float, float]:
    """Processor time of nginx's worker per connection, in microseconds; connections per second."""
    before = read_process(limit.server.worker)
    record = limit.load(way, WAYS[way])
    after = read_process(limit.server.worker)
    if before is None or after is None:
        raise CannotRunError("nginx's worker has ended")
    outcomes = record["outcomes"]
    failed = sum(outcomes["failed"].values())
    if failed:
        raise CannotRunError(f"{way}: {failed} connections failed ({outcomes['failed']})")
    handshakes = outcomes["completed"] + outcomes["in_flight_at_stop"]
    return sum(used(before, after)) / handshakes, outcomes["completed"] / record["seconds"]


if __name__ == "__main__":
    sys.exit(main())
