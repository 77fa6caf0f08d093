"""`make bench`: the generator against its rivals and against the limit, in every cell, interleaved.

Exit codes: 0 every bar met, 1 a bar missed, 3 could not run. BENCH_BLOCKS, BENCH_SECONDS and
BENCH_SEED change the number of blocks (10), a run's length (5) and the order. BENCH_BEFORE is an
earlier build of tlslab-load, which is measured beside today's. Arguments choose cells by a part of
their names.
"""

import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.box import SIMPLE
from rich.table import Table

from bench.blocks import BLOCKS, SECONDS, SEED, Interval, mean, ratio, share
from bench.cells import FACTS, LEAN, Cell, cells
from bench.child import PROCESSOR, Run, run
from bench.generators import Counted, Generator, require_rivals
from bench.results import Bar, console, show_bars, write
from bench.server import SUITE, Server, serving
from tlslab.analysis.limit import client_limit_us, request_limit_us
from tlslab.contract.primitives import Primitives
from tlslab.contract.record import RunRecord
from tlslab.domain.codec import from_json
from tlslab.domain.errors import CannotRunError, TlslabError
from tlslab.servers.programs import require_program

# With a larger share of other programs' work, the figures are wrong.
DISTURBANCE_LIMIT = 0.10

# The server writes its line after the response: the last lines come after the generator's end.
SETTLE_S = 0.2

# The rate of an open loop while its handshakes are checked.
CHECKED_RATE = 400

SERVER_BUSY_BAR, GENERATOR_BUSY_BAR = 0.97, 0.60


@dataclass(frozen=True)
class Sample:
    """One run of one generator. `limit_us` is the limit of its work on this machine, if known."""

    run: Run
    counted: Counted
    limit_us: float | None = None

    @property
    def cpu_us(self) -> float:
        """Processor time of the whole process per unit, in microseconds."""
        return self.run.cpu_us / self.counted.completed

    @property
    def per_s(self) -> float:
        """Completed units per second of the process's life."""
        return self.counted.completed / self.run.seconds


@dataclass
class Results:
    """All samples of a cell by generator and block."""

    cell: Cell
    samples: dict[str, dict[int, Sample]] = field(default_factory=dict)

    def add(self, name: str, block: int, sample: Sample) -> None:
        """Adds one run."""
        self.samples.setdefault(name, {})[block] = sample

    def costs(self, name: str) -> dict[int, float]:
        """Processor time per unit in each block, in microseconds."""
        return {block: sample.cpu_us for block, sample in self.samples[name].items()}

    def cost(self, name: str) -> Interval:
        """The mean over the blocks."""
        return mean(list(self.costs(name).values()))

    def over(self, name: str, ours: str) -> Interval:
        """A generator's cost as a multiple of ours."""
        return ratio(self.costs(name), self.costs(ours))

    def over_limit(self, name: str) -> Interval | None:
        """A generator's cost as a multiple of the limit; None if that is unknown."""
        limits = {b: s.limit_us for b, s in self.samples[name].items() if s.limit_us is not None}
        costs = {block: cost for block, cost in self.costs(name).items() if block in limits}
        return ratio(costs, limits) if limits else None

    def over_before(self, ours: str) -> Interval | None:
        """The cost of the earlier build as a multiple of today's; None if there is none."""
        earlier = [one.name for one in self.cell.generators if one.build_of == ours]
        return self.over(earlier[0], ours) if earlier else None

    @property
    def best_rival(self) -> str | None:
        """The rival with the lowest cost."""
        rivals = [one.name for one in self.cell.rivals]
        return min(rivals, key=lambda name: self.cost(name).value, default=None)

    def busy(self, name: str, what: str) -> Interval:
        """A busy share in the middle of a generator's runs: a field of `child.Busy`."""
        return share([getattr(sample.run.busy, what) for sample in self.samples[name].values()])

    @property
    def disturbance(self) -> float:
        """The largest share of the generator's processor that other programs used in a run.

        The processor is read in the middle of a run, the process over the whole run: a difference
        of a few hundredths is no disturbance.
        """
        return max(
            self.busy(name, "generator_processor").value
            - share([sample.run.own_share for sample in self.samples[name].values()]).value
            for name in self.samples
        )

    def bars(self) -> list[Bar]:
        """Every bar of the cell, met if the interval over the blocks lies beyond it."""
        best, found = self.best_rival, []
        for ours, bar in self.cell.bars.items():
            if best is not None:
                times = self.over(best, ours)
                text = f"{self.cell.name}: {best} needs at least {bar} times the time of {ours}"
                found.append(Bar(text, f"{times:.2f}", times.low >= bar))
        if self.cell.limit is not None:
            first = self.cell.ours[0].name
            over = self.over_limit(first)
            text = f"{self.cell.name}: {first} needs less than {self.cell.limit} times the limit"
            shown = "not known" if over is None else f"{over:.2f}"
            found.append(Bar(text, shown, over is not None and over.high < self.cell.limit))
        if LEAN in self.cell.bars:
            server = self.busy(LEAN, "server_processor")
            text = f"{LEAN} keeps the server's processor at least {SERVER_BUSY_BAR:.0%} busy"
            found.append(Bar(text, f"{server:.1%}", server.low >= SERVER_BUSY_BAR))
            own = self.busy(LEAN, "generator_processor")
            text = f"with its own processor below {GENERATOR_BUSY_BAR:.0%} busy"
            found.append(Bar(text, f"{own:.1%}", own.high < GENERATOR_BUSY_BAR))
        return found


def main(arguments: Sequence[str]) -> int:
    """Runs the bench; returns the exit code."""
    try:
        return _bench(arguments)
    except TlslabError as error:
        print(f"bench: {error.message}" + (f"; {error.remedy}" if error.remedy else ""))
        return error.exit_code


def _bench(arguments: Sequence[str]) -> int:
    if len(os.sched_getaffinity(0)) <= PROCESSOR:
        raise CannotRunError("the bench needs two processors, one for each side")
    require_rivals()
    chosen = [
        cell for cell in cells() if not arguments or any(part in cell.name for part in arguments)
    ]
    if not chosen:
        names = "; ".join(cell.name for cell in cells())
        raise CannotRunError(f"no cell has {' or '.join(arguments)} in its name: {names}")
    found = [_measure_cell(cell) for cell in chosen]
    for results in found:
        _show(results)
    met = show_bars([bar for results in found for bar in results.bars()])
    setting = {"blocks": BLOCKS, "seconds": SECONDS, "seed": SEED}
    print(f"results: {write('bench', setting, {'cells': [_as_json(one) for one in found]})}")
    return 0 if met else 1


def _measure_cell(cell: Cell) -> Results:
    """Every generator once in each block, in a new random order for each block."""
    if cell.lines:
        for one in cell.generators:
            _verify(cell, one)
    results = Results(cell)
    order = random.Random(SEED)
    with (
        tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
        serving(Path(folder), cell.page, plain_times=cell.streams) as server,
    ):
        rates = {one.name: _best_rate(one, server) for one in cell.generators if one.rates}
        for block in range(BLOCKS):
            began = time.monotonic()
            primitives = _primitives(cell, server)
            for one in order.sample(cell.generators, len(cell.generators)):
                sample = _measure(one, server, SECONDS, rates.get(one.name, 0))
                results.add(one.name, block, _with_limit(cell, one, sample, primitives))
            spent = time.monotonic() - began
            print(f"{cell.name}, block {block + 1} of {BLOCKS}: {spent:.0f} s", flush=True)
    results.samples = {one.name: results.samples[one.name] for one in cell.generators}
    return results


def _verify(cell: Cell, generator: Generator) -> None:
    """One second against a server that logs: every request must be of the cell's work.

    The server may log more than the generator counts: requests cut short by its end. Raises
    CannotRunError.
    """
    with (
        tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
        serving(Path(folder), cell.page, facts=FACTS) as server,
    ):
        counted = _measure(generator, server, 1.0, CHECKED_RATE).counted
        time.sleep(SETTLE_S)
        with server.facts_log.open(encoding="utf-8") as log:
            facts = Counter(line.strip() for line in log)
    meant = sum(count for line, count in facts.items() if cell.is_as_meant(line))
    other = facts.total() - meant
    print(f"{cell.name}, {generator.name}: {meant:,} requests as meant, {other:,} others")
    if counted.failed or not 0 < counted.completed <= facts.total() or other > cell.other * meant:
        lines = "; ".join(f"{count} x {line}" for line, count in facts.most_common(5))
        raise CannotRunError(f"{generator.name} did other work than {cell.name}: {lines}")


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


def _measure(generator: Generator, server: Server, seconds: float, rate: int) -> Sample:
    done = run(generator.command(server, seconds, rate), seconds, server.worker)
    return Sample(done, generator.answer(done.output, done.code))


def _primitives(cell: Cell, server: Server) -> Primitives:
    """The primitives of a cell, on the generator's processor. Raises CannotRunError."""
    page = cell.page
    # The exchange on TCP takes the longest by far.
    what = ["--group", page.group, "--certificate", page.key, "--backend", "rustls"]
    suite = SUITE if page.tls == "1.3" else page.suite
    plain = f"{server.host}:{server.plain_port}"
    program = [require_program("tlslab-load"), "primitives", *what, "--suite", suite]
    done = run([*program, "--plain", plain, "--time", "40ms", "--json"], 1.0, server.worker)
    if done.code != 0:
        raise CannotRunError(f"the limit could not be measured: {done.output.strip()[-400:]}")
    return from_json({"primitives": json.loads(done.output)["primitives"]}, Primitives)


def _with_limit(cell: Cell, one: Generator, sample: Sample, primitives: Primitives) -> Sample:
    """The sample with the limit of its work, if it is ours."""
    if not one.ours:
        return sample
    line = next(line for line in sample.run.output.splitlines() if line.startswith("{"))
    record = from_json(json.loads(line), RunRecord)
    if cell.unit == "connection":
        limit = client_limit_us(record, primitives)
    else:
        limit = request_limit_us(record, primitives, cell.streams)
    return Sample(sample.run, sample.counted, limit)


def _show(results: Results) -> None:
    """Prints the table of a cell."""
    unit, best = results.cell.unit, results.best_rival
    title = f"{results.cell.name}: generator's processor time per {unit}, microseconds"
    table = Table(title=title, title_justify="left", box=SIMPLE)
    table.add_column("generator", no_wrap=True)
    headings = ("CPU (95 %)", "user, system", f"{unit}s/s", "failed", "over limit")
    compares = any(one.build_of for one in results.cell.generators)
    before = ("before",) if compares else ()
    for heading in (*headings, "best rival", *before, "busy: server, own"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, by_block in results.samples.items():
        samples = list(by_block.values())
        completed = sum(sample.counted.completed for sample in samples)
        limit = results.over_limit(name)
        is_ours = any(one.name == name for one in results.cell.ours)
        earlier = results.over_before(name)
        table.add_row(
            name,
            f"{results.cost(name):.3g}",
            ", ".join(
                f"{sum(spent) / completed:.3g}"
                for spent in ([s.run.user_us for s in samples], [s.run.system_us for s in samples])
            ),
            f"{mean([sample.per_s for sample in samples]).value:,.0f}",
            f"{sum(sample.counted.failed for sample in samples)}",
            "" if limit is None else f"{limit:.2f}",
            f"{results.over(best, name):.2f}" if is_ours and best is not None else "",
            *(["" if earlier is None else f"{earlier:.2f}"] if compares else []),
            ", ".join(
                f"{results.busy(name, f'{side}_processor').value:.0%}"
                for side in ("server", "generator")
            ),
        )
    console.print(table)
    if results.disturbance > DISTURBANCE_LIMIT:
        console.print(
            f"[yellow]warning[/] other programs took up to {results.disturbance:.0%} of the "
            "generator's processor: end them and run again"
        )


def _as_json(results: Results) -> dict[str, object]:
    """Every run of a cell by generator and block, and the derived figures."""
    names, best = list(results.samples), results.best_rival
    ours = [one.name for one in results.cell.ours]
    limits = {name: results.over_limit(name) for name in ours}
    earlier = {name: results.over_before(name) for name in ours}
    return {
        "cell": results.cell.name,
        "unit": results.cell.unit,
        "runs": {
            name: {str(block): _as_run(sample) for block, sample in by_block.items()}
            for name, by_block in results.samples.items()
        },
        "cpu_us": {name: asdict(results.cost(name)) for name in names},
        "best_rival": best,
        "best_rival_over": {} if best is None else {n: asdict(results.over(best, n)) for n in ours},
        "before_over": {name: asdict(over) for name, over in earlier.items() if over is not None},
        "over_limit": {name: asdict(limit) for name, limit in limits.items() if limit is not None},
        "bars": [asdict(bar) for bar in results.bars()],
    }


def _as_run(sample: Sample) -> dict[str, object]:
    """One run; processor time in microseconds, of the whole process and of its workers alone."""
    return {
        "cpu_us": sample.cpu_us,
        "limit_us": sample.limit_us,
        "user_us": sample.run.user_us,
        "system_us": sample.run.system_us,
        "workers_us": sample.counted.own_cpu_us,
        "completed": sample.counted.completed,
        "failed": sample.counted.failed,
        "seconds": sample.run.seconds,
        "busy": {**asdict(sample.run.busy), "generator_process": sample.run.own_share},
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
