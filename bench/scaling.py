"""The cost of a second worker: client CPU per connection with 1 and with 2 workers.

If the workers share nothing, two workers have the same cost per connection as one. The workers run
on the generator's processor; the server's processor is always busy in both cases (ADR 0041).
"""

import tempfile
from functools import partial
from pathlib import Path

from bench.arms import interleaved, no_more, show
from bench.at_limit import AtLimit
from bench.intervals import ratio
from bench.server import serving

THREADS = (1, 2)

# Two workers need twice the space in the caches.
TOLERANCE = 0.05


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
    bar = f"at most {TOLERANCE:.0%} more, or 1 within the interval"
    return show(question, found, bar, no_more(found, TOLERANCE))


def client_cost(limit: AtLimit, threads: int) -> float:
    """Processor time of the workers per completed connection, in microseconds."""
    record = limit.load(f"{threads} workers", ["-t", str(threads)])
    cpu = record["cpu"]
    return (int(cpu["user_us"]) + int(cpu["system_us"])) / int(record["outcomes"]["completed"])
