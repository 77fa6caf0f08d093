"""What does a second worker cost? Client CPU per connection with 1 and with 2 workers.

Workers that share nothing need as much per connection each as one alone. The rate is given (an open
loop that keeps neither side busy), since on two processors two workers and a server that all run as
fast as they can would only fight for them.
"""

import json
import tempfile
from functools import partial
from pathlib import Path

from bench.arms import interleaved, no_more, show
from bench.child import run
from bench.intervals import ratio
from bench.server import GROUP, SUITE, Server, serving
from bench.settings import SECONDS
from tlslab.lab.programs import require_program
from tlslab.model.errors import CannotRunError

THREADS = (1, 2)

# A third of what one processor's nginx manages.
RATE = 1000

# Caches are shared by two workers on two processors as they are by anything else.
TOLERANCE = 0.05


def scaling() -> bool:
    """Measures and prints; whether two workers need per connection what one does."""
    with (
        tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
        serving(Path(folder)) as server,
    ):
        costs = interleaved(THREADS, partial(client_cost, server))
    found = ratio(costs[2], costs[1])
    question = f"client CPU per connection at {RATE}/s, 2 workers over 1"
    bar = f"at most {TOLERANCE:.0%} more, or 1 within the interval"
    return show(question, found, bar, no_more(found, TOLERANCE))


def client_cost(server: Server, threads: int) -> float:
    """Processor time of the workers per completed connection, in microseconds.

    The workers share the generator's processor: what is asked is what they cost each other.
    """
    command = [require_program("tlslab-load"), "--json", "-c", "200", "-t", str(threads)]
    command += ["--rate", str(RATE), "-d", f"{SECONDS:g}s", "--tls", "1.3", "--group", GROUP]
    command += ["--suite", SUITE, "--ca", str(server.ca_file), server.url]
    done = run(command, SECONDS, server.worker)
    record = json.loads(done.output.splitlines()[-1])
    completed = int(record["outcomes"]["completed"])
    if completed == 0:
        raise CannotRunError("nothing was completed")
    return (int(record["cpu"]["user_us"]) + int(record["cpu"]["system_us"])) / completed
