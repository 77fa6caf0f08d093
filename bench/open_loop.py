"""Part of `make bench`: does an open loop start its connections on time?

Several runs, one arrival process after the other. The median over the runs counts, because a
machine that is itself late for some milliseconds spoils the 99th percentile of any one run.
cyclictest (rt-tests) measures the machine's own lateness: a bare timer of high priority on the
generator's processor, beside a load that is not judged. If that timer is late, a missed bar says
nothing.

Exit codes: 0 every bar met, 1 a bar missed, 3 could not run. BENCH_SECONDS, BENCH_BLOCKS and
BENCH_SEED change a run's length (5 s), the number of runs of each arrival process, and the seed of
the random arrivals.
"""

import csv
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE
from rich.table import Table
from scipy import stats

from bench.blocks import BLOCKS, SECONDS, SEED
from bench.child import PATIENCE_S, PROCESSOR
from bench.results import console
from bench.server import GROUP, SUITE, Server, serving
from tlslab.domain.errors import CannotRunError, TlslabError
from tlslab.lab.placement import may_run_in_real_time
from tlslab.servers.base import pinned
from tlslab.servers.programs import require_program

RATE = 2000
ARRIVALS = ("constant", "poisson")
SLOTS = 512

DELAY_LIMIT_US = 100.0
RATE_LIMIT = 0.005

# The largest 99th percentile of a bare timer's lateness with which the machine can show the bar
# above.
MACHINE_LIMIT_US = 40.0
TIMER_PERIOD_US = 500
TIMER_PRIORITY = 90

# The significance level of the Anderson-Darling test, in percent.
LEVEL = 1.0


@dataclass(frozen=True)
class Punctuality:
    """The punctuality of a run: times in microseconds, statistics of the intervals between starts.

    `intended` and `actual` are Anderson-Darling statistics of the intervals between intended starts
    and between actual starts, against the exponential distribution; None for constant arrivals. Of
    the actual intervals, those above `DELAY_LIMIT_US` count, less that limit: one processor starts
    one connection after the other, so that no interval is shorter than a start, and an exponential
    distribution beyond any value has the same shape. `critical` is the limit of both statistics.
    """

    arrivals: str
    starts: int
    delay_p50_us: float
    delay_p99_us: float
    rate_error: float
    client_share: float
    intended: float | None
    actual: float | None
    critical: float

    def bars(self) -> dict[str, bool]:
        """Each bar, and whether it is met."""
        found = {
            f"p99 of the start delay at most {DELAY_LIMIT_US:.0f} us": (
                self.delay_p99_us <= DELAY_LIMIT_US
            ),
            f"achieved rate within {RATE_LIMIT:.1%}": self.rate_error <= RATE_LIMIT,
        }
        if self.intended is not None and self.actual is not None:
            found["intended starts pass Anderson-Darling"] = self.intended <= self.critical
            found["actual starts pass Anderson-Darling"] = self.actual <= self.critical
        return found


def punctuality(
    arrivals: str,
    record: Mapping[str, Any],
    intended: NDArray[np.int64],
    started: NDArray[np.int64],
) -> Punctuality:
    """The punctuality from a run's record and the instants of its trace, in ns, in order."""
    delays = (started - intended) / 1e3
    cpu = record["cpu"]["user_us"] + record["cpu"]["system_us"]
    # The number of random arrivals is a matter of chance; the arrivals that were due count.
    random, loop = arrivals == "poisson", record["open_loop"]
    intended_ad, critical = anderson_darling(np.diff(np.sort(intended)))
    apart = np.diff(np.sort(started.astype(np.float64))) / 1e3 - DELAY_LIMIT_US
    actual_ad, _ = anderson_darling(apart[apart > 0])
    return Punctuality(
        arrivals=arrivals,
        starts=len(delays),
        delay_p50_us=float(np.percentile(delays, 50)),
        delay_p99_us=float(np.percentile(delays, 99)),
        rate_error=abs(loop["achieved_per_s"] / (loop["offered_per_s"] if random else RATE) - 1),
        client_share=cpu / 1e6 / record["seconds"],
        intended=intended_ad if random else None,
        actual=actual_ad if random else None,
        critical=critical,
    )


def anderson_darling(distances: NDArray[Any]) -> tuple[float, float]:
    """The statistic against exponential arrivals, and its critical value at LEVEL percent."""
    with warnings.catch_warnings():
        # scipy announces another form of the result as the future default.
        warnings.simplefilter("ignore", FutureWarning)
        found = stats.anderson(distances.astype(float), "expon")
    levels = [float(level) for level in found.significance_level]
    return float(found.statistic), float(found.critical_values[levels.index(LEVEL)])


def main() -> int:
    """Runs both arrival processes; returns the exit code."""
    try:
        with (
            tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
            serving(Path(folder)) as server,
        ):
            trace = Path(folder) / "trace.csv"
            runs, machine = [], []
            for block in range(BLOCKS):
                runs += [_run(server, arrivals, SEED + block, trace) for arrivals in ARRIVALS]
                machine.append(_machine_p99_us(server, Path(folder) / "timer.json"))
    except TlslabError as error:
        print(f"bench: {error.message}" + (f"; {error.remedy}" if error.remedy else ""))
        return error.exit_code
    return 0 if _show(runs, machine) else 1


def _command(server: Server, seconds: float, *flags: str) -> list[str]:
    program = require_program("tlslab-load")
    offer = ["--tls", "1.3", "--group", GROUP, "--suite", SUITE, "--lean"]
    load = ["--rate", str(RATE), "-c", str(SLOTS), "-d", f"{seconds:g}s", *flags]
    command = [program, "--json", *load, *offer, "--ca", str(server.ca_file), server.url]
    return pinned(command, [PROCESSOR], "KILL")


def _run(server: Server, arrivals: str, seed: int, trace: Path) -> Punctuality:
    flags = ["--arrivals", arrivals, "--seed", str(seed), "--warmup", "1s", "--trace", str(trace)]
    realtime = ["--realtime"] if may_run_in_real_time() else []
    done = subprocess.run(
        _command(server, SECONDS, *flags, *realtime),
        capture_output=True,
        text=True,
        timeout=SECONDS + 1 + PATIENCE_S,
        check=False,
    )
    if not done.stdout or done.returncode > 1:
        raise CannotRunError(f"tlslab-load ended with code {done.returncode}: {done.stderr[-400:]}")
    with trace.open(encoding="ascii") as file:
        rows = [(int(row["intended_ns"]), int(row["started_ns"])) for row in csv.DictReader(file)]
    instants = np.array(rows, dtype=np.int64)
    return punctuality(arrivals, json.loads(done.stdout), instants[:, 0], instants[:, 1])


def _machine_p99_us(server: Server, result: Path) -> float | None:
    """The 99th percentile of a bare timer's lateness beside the load.

    None without permission for it.
    """
    loops = round(SECONDS * 1e6 / TIMER_PERIOD_US)
    timer = ["-q", "-t1", f"-a{PROCESSOR}", f"-i{TIMER_PERIOD_US}", f"-l{loops}", "-h", "20000"]
    command = ["cyclictest", *timer, f"-p{TIMER_PRIORITY}", f"--json={result}"]
    load = subprocess.Popen(
        _command(server, SECONDS + 1), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=SECONDS + PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    finally:
        load.kill()
        load.wait()
    return lateness_p99(json.loads(result.read_text())) if done.returncode == 0 else None


def lateness_p99(printed: Mapping[str, Any]) -> float:
    """The 99th percentile in cyclictest's JSON output, in microseconds."""
    thread = printed["thread"]["0"]
    histogram = sorted((int(late), count) for late, count in thread["histogram"].items())
    most = 0.99 * thread["cycles"]
    for late, passed in zip(
        (late for late, _ in histogram), accumulate(n for _, n in histogram), strict=True
    ):
        if passed >= most:
            return float(late)
    return float(thread["max"])


def median(runs: Sequence[Punctuality]) -> Punctuality:
    """The medians of the runs of one arrival process, number by number."""
    fields = asdict(runs[0])
    numbers = [name for name, value in fields.items() if isinstance(value, int | float)]
    middle = {name: float(np.median([getattr(run, name) for run in runs])) for name in numbers}
    return Punctuality(**(fields | middle | {"starts": round(middle["starts"])}))


def _show(runs: list[Punctuality], machine: Sequence[float | None]) -> bool:
    """Prints the table and the bars; returns whether all are met."""
    late = [each for each in machine if each is not None]
    unfit = bool(late) and float(np.median(late)) > MACHINE_LIMIT_US
    by_process = {
        arrivals: [run for run in runs if run.arrivals == arrivals] for arrivals in ARRIVALS
    }
    found = [median(of_one) for of_one in by_process.values()]
    title = f"Open loop at {RATE:,} connections/s, medians of {len(by_process[ARRIVALS[0]])} runs"
    table = Table(title=title, title_justify="left", box=SIMPLE)
    heads = ["arrivals", "starts", "delay p50 us", "p99 us", "rate off", "client busy", "A-D"]
    for head in heads:
        table.add_column(head, justify="left" if head == "arrivals" else "right")
    for one in found:
        statistics = "-" if one.intended is None else f"{one.intended:.2f}, {one.actual:.2f}"
        table.add_row(
            one.arrivals,
            f"{one.starts:,}",
            f"{one.delay_p50_us:.1f}",
            f"{one.delay_p99_us:.1f}",
            f"{one.rate_error:.2%}",
            f"{one.client_share:.0%}",
            statistics,
        )
    console.print(table)
    for arrivals, of_one in by_process.items():
        each = ", ".join(f"{run.delay_p99_us:.0f}" for run in of_one)
        console.print(f"p99 of each run, {arrivals}, in us: {each}")
    printed = ", ".join(f"{each:.0f}" for each in late) or "it could not be measured (cyclictest)"
    console.print(f"p99 of a bare timer's lateness on this machine, in us: {printed}")
    for one in found:
        for bar, met in one.bars().items():
            verdict = (
                "met   " if met else "INCONCLUSIVE, the machine is late" if unfit else "MISSED"
            )
            console.print(f"{verdict} {one.arrivals}: {bar}")
    return all(met for one in found for met in one.bars().values())


if __name__ == "__main__":
    sys.exit(main())
