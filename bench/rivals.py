"""`make bench`: the generator against its rivals and the floor, interleaved, on one nginx.

Exit codes: 0 every bar met, 1 a bar missed, 3 could not run. BENCH_BLOCKS, BENCH_SECONDS and
BENCH_SEED change the number of blocks (10), a run's length (5) and the order.
"""

import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import floor
from bench.blocks import BLOCKS, SECONDS, SEED
from bench.child import PROCESSOR, run
from bench.generators import Generator, generators
from bench.results import Results, Sample, keep, show, show_verified
from bench.server import Server, serving
from bench.verify import verify
from tlslab.domain.errors import CannotRunError, TlslabError

FLOOR_SECONDS = 1.0


def main() -> int:
    """Runs the whole bench; returns the exit code."""
    try:
        return _bench()
    except TlslabError as error:
        print(f"bench: {error.message}" + (f"; {error.remedy}" if error.remedy else ""))
        return error.exit_code


def _bench() -> int:
    if len(os.sched_getaffinity(0)) <= PROCESSOR:
        raise CannotRunError("the bench needs two processors, one for each side")
    contestants = generators()
    verified = verify(contestants)
    if not show_verified(verified):
        raise CannotRunError("a generator did not make the handshakes that are to be compared")
    with (
        tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
        serving(Path(folder)) as server,
    ):
        rates = {one.name: _best_rate(one, server) for one in contestants if one.rates}
        results = _blocks(contestants, rates, server)
    met = show(results)
    setting = {"blocks": BLOCKS, "seconds": SECONDS, "seed": SEED, "rates": rates}
    print(f"results: {keep(results, verified, setting)}")
    return 0 if met else 1


def _best_rate(generator: Generator, server: Server) -> int:
    """The rate at which an open-loop generator has the lowest cost; each of its rates is tried
    once.

    A try is as long as a run: an overload takes seconds to fill the generator's file table.
    """
    costs = {}
    for rate in generator.rates:
        sample = _measure(generator, server, SECONDS, rate)
        if sample.counted.failed == 0:
            costs[sample.cpu_us] = rate
    if not costs:
        raise CannotRunError(f"{generator.name} manages none of the rates {generator.rates}")
    best = costs[min(costs)]
    print(f"{generator.name}: least at {best} connections/s, {min(costs):.0f} us each", flush=True)
    return best


def _blocks(contestants: Sequence[Generator], rates: dict[str, int], server: Server) -> Results:
    """Every generator and the floor once in each block, in a new random order for each block."""
    results = Results(rivals=[one.name for one in contestants if not one.ours])
    order = random.Random(SEED)
    for block in range(BLOCKS):
        began = time.monotonic()
        for one in order.sample([*contestants, None], len(contestants) + 1):
            if one is None:
                results.floors[block] = floor.measure(server, FLOOR_SECONDS)
            else:
                sample = _measure(one, server, SECONDS, rates.get(one.name, 0))
                results.add(one.name, block, sample)
        print(f"block {block + 1} of {BLOCKS}: {time.monotonic() - began:.0f} s", flush=True)
    results.samples = {one.name: results.samples[one.name] for one in contestants}
    return results


def _measure(generator: Generator, server: Server, seconds: float, rate: int) -> Sample:
    done = run(generator.command(server, seconds, rate), seconds, server.worker)
    return Sample(done, generator.answer(done.output, done.code))


if __name__ == "__main__":
    sys.exit(main())
