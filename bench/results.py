"""The results of the bench, block by block: compared with the project's bars, printed, stored."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from bench.blocks import Interval, mean, ratio, share
from bench.child import Run
from bench.floor import FULL, LEAN, NAMES, Floor
from bench.generators import Counted
from bench.verify import Verified
from tlslab.lab.opening import machine

LEAN_NAME = "tlslab-load --lean"
FULL_NAME = "tlslab-load"

LEAN_BAR = 5.0
FULL_BAR = 3.0
FLOOR_BAR = 1.7
SERVER_BUSY_BAR = 0.97
GENERATOR_BUSY_BAR = 0.60

# With a larger share of other programs' work, the figures are wrong.
DISTURBANCE_LIMIT = 0.10


@dataclass(frozen=True)
class Sample:
    """One run of one generator."""

    run: Run
    counted: Counted

    @property
    def cpu_us(self) -> float:
        """Processor time of the whole process per completed connection, in microseconds."""
        return self.run.cpu_us / self.counted.completed

    @property
    def per_s(self) -> float:
        """Completed connections per second of the process's life."""
        return self.counted.completed / self.run.seconds


@dataclass(frozen=True)
class Bar:
    """One bar: the result, the limit, and whether the whole interval meets the limit."""

    text: str
    found: str
    met: bool


@dataclass
class Results:
    """All samples by generator and block, and the floor of each block."""

    rivals: Sequence[str]
    samples: dict[str, dict[int, Sample]] = field(default_factory=dict)
    floors: dict[int, Floor] = field(default_factory=dict)

    def add(self, name: str, block: int, sample: Sample) -> None:
        """Adds one run."""
        self.samples.setdefault(name, {})[block] = sample

    def costs(self, name: str) -> dict[int, float]:
        """Processor time per connection in each block, in microseconds."""
        return {block: sample.cpu_us for block, sample in self.samples[name].items()}

    def cost(self, name: str) -> Interval:
        """The mean over the blocks."""
        return mean(list(self.costs(name).values()))

    def over(self, name: str, ours: str) -> Interval:
        """A generator's cost as a multiple of ours."""
        return ratio(self.costs(name), self.costs(ours))

    @property
    def best_rival(self) -> str:
        """The rival with the lowest cost."""
        return min(self.rivals, key=lambda name: self.cost(name).value)

    def over_floor(self, name: str, how_often: Mapping[str, float]) -> Interval:
        """A generator's cost as a multiple of the floor."""
        floors = {block: floor.total(how_often) for block, floor in self.floors.items()}
        return ratio(self.costs(name), floors)

    def busy(self, name: str, what: str) -> Interval:
        """A busy share in the middle of a generator's runs: a field of `child.Busy`."""
        return share([getattr(sample.run.busy, what) for sample in self.samples[name].values()])

    def own_share(self, name: str) -> Interval:
        """The generator's own use of its processor, over its whole runs."""
        return share([sample.run.own_share for sample in self.samples[name].values()])

    @property
    def disturbance(self) -> float:
        """The largest share of the generator's processor that other programs used in a run.

        The processor is read in the middle of a run, the process over the whole run: a difference
        of a few hundredths is no disturbance.
        """
        return max(
            self.busy(name, "generator_processor").value - self.own_share(name).value
            for name in self.samples
        )

    def bars(self) -> list[Bar]:
        """Every bar, met if the interval over the blocks lies beyond it."""
        best = self.best_rival
        found = []
        for ours, bar in ((LEAN_NAME, LEAN_BAR), (FULL_NAME, FULL_BAR)):
            times = self.over(best, ours)
            text = f"{best} needs at least {bar} times the processor time of {ours}"
            found.append(Bar(text, f"{times:.2f}", times.low >= bar))
        floor = self.over_floor(LEAN_NAME, LEAN)
        text = f"{LEAN_NAME} needs less than {FLOOR_BAR} times the floor"
        found.append(Bar(text, f"{floor:.2f}", floor.high < FLOOR_BAR))
        server = self.busy(LEAN_NAME, "server_processor")
        text = f"{LEAN_NAME} keeps the server's processor at least {SERVER_BUSY_BAR:.0%} busy"
        found.append(Bar(text, f"{server:.1%}", server.low >= SERVER_BUSY_BAR))
        own = self.busy(LEAN_NAME, "generator_processor")
        text = f"with its own processor below {GENERATOR_BUSY_BAR:.0%} busy"
        found.append(Bar(text, f"{own:.1%}", own.high < GENERATOR_BUSY_BAR))
        return found


# Wide enough for every table, wherever the output goes.
console = Console(width=120, highlight=False)


def show_verified(found: Mapping[str, Verified]) -> bool:
    """Prints the counts; returns whether all made full handshakes with the pinned settings."""
    table = Table(title="Handshakes as the server saw them", title_justify="left", box=SIMPLE)
    table.add_column("generator")
    table.add_column("full, as pinned, one request", justify="right")
    table.add_column("other")
    table.add_column("completed, it says", justify="right")
    for name, verified in found.items():
        other = "; ".join(f"{count} x {facts}" for facts, count in verified.other.items())
        table.add_row(name, f"{verified.wanted:,}", other or "none", f"{verified.completed:,}")
    console.print(table)
    return all(verified.passed for verified in found.values())


def show(results: Results) -> bool:
    """Prints all tables; returns whether every bar is met."""
    _show_generators(results)
    _show_busy(results)
    _show_floor(results)
    if results.disturbance > DISTURBANCE_LIMIT:
        console.print(
            f"[yellow]warning[/] other programs took up to {results.disturbance:.0%} of the "
            "generator's processor: end them and run again"
        )
    bars = results.bars()
    for bar in bars:
        mark = "[green]met      [/]" if bar.met else "[red]not shown[/]"
        console.print(f"{mark} {bar.text}: {bar.found}")
    return all(bar.met for bar in bars)


def _show_generators(results: Results) -> None:
    title = "Generator's processor time (user + system) per completed connection, microseconds"
    table = Table(title=title, title_justify="left", box=SIMPLE)
    table.add_column("generator", no_wrap=True)
    for heading in ("CPU (95 %)", "user", "system", "workers", "conn/s", "failed"):
        table.add_column(heading, justify="right")
    table.add_column("over lean", justify="right")
    table.add_column("over full", justify="right")
    for name, by_block in results.samples.items():
        samples = list(by_block.values())
        completed = sum(sample.counted.completed for sample in samples)
        own = [s.counted.own_cpu_us / s.counted.completed for s in samples if s.counted.own_cpu_us]
        table.add_row(
            name,
            f"{results.cost(name):.0f}",
            f"{sum(s.run.user_us for s in samples) / completed:.0f}",
            f"{sum(s.run.system_us for s in samples) / completed:.0f}",
            f"{mean(own).value:.0f}" if own else "",
            f"{mean([sample.per_s for sample in samples]).value:,.0f}",
            f"{sum(sample.counted.failed for sample in samples)}",
            "" if name == LEAN_NAME else f"{results.over(name, LEAN_NAME):.2f}",
            "" if name in (LEAN_NAME, FULL_NAME) else f"{results.over(name, FULL_NAME):.2f}",
        )
    console.print(table)


def _show_busy(results: Results) -> None:
    table = Table(title="Busy, in the middle of the runs", title_justify="left", box=SIMPLE)
    table.add_column("generator")
    for heading in ("server's processor", "nginx's worker", "generator's processor", "its process"):
        table.add_column(heading, justify="right")
    for name in results.samples:
        fields = ("server_processor", "server_process", "generator_processor")
        shares = [results.busy(name, what) for what in fields]
        table.add_row(name, *(f"{one:.1%}" for one in [*shares, results.own_share(name)]))
    console.print(table)


def _show_floor(results: Results) -> None:
    table = Table(
        title="The floor of one connection, microseconds", title_justify="left", box=SIMPLE
    )
    table.add_column("term")
    for heading in ("once (95 %)", "of lean", "of full"):
        table.add_column(heading, justify="right")
    for term, name in NAMES.items():
        once = mean([floor.terms[term] for floor in results.floors.values()])
        shares = (f"{once.value * how[term]:.1f}" if term in how else "" for how in (LEAN, FULL))
        table.add_row(name, f"{once:.1f}", *shares)
    sums = [mean([f.total(how) for f in results.floors.values()]) for how in (LEAN, FULL)]
    table.add_row("sum", "", *(f"{total:.1f}" for total in sums), style="bold")
    over = (results.over_floor(LEAN_NAME, LEAN), results.over_floor(FULL_NAME, FULL))
    table.add_row("generator over floor", "", *(f"{times:.2f}" for times in over), style="bold")
    console.print(table)


ROOT = Path(__file__).parent.parent


def keep(results: Results, verified: Mapping[str, Verified], setting: Mapping[str, object]) -> Path:
    """Writes all results; returns the file. `setting` has the settings of the bench."""
    found = {"verified": {name: asdict(one) for name, one in verified.items()}, **as_json(results)}
    return write("bench", setting, found)


def write(name: str, setting: Mapping[str, object], found: Mapping[str, object]) -> Path:
    """Writes a file with this name in a folder of its own; returns the file."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    file = ROOT / "runs" / f"{name}-{stamp}" / f"{name}.json"
    file.parent.mkdir(parents=True)
    head = {"schema": "tlslab.bench/1", "setting": dict(setting), "machine": machine()}
    file.write_text(json.dumps({**head, **found}, indent=1) + "\n", "utf-8")
    return file


def as_json(results: Results) -> dict[str, object]:
    """Every run by generator and block, the floors by block, and the derived figures."""
    return {
        "runs": {
            name: {str(block): as_run(sample) for block, sample in by_block.items()}
            for name, by_block in results.samples.items()
        },
        "floor_us": {str(block): dict(floor.terms) for block, floor in results.floors.items()},
        "floor_of": {"lean": dict(LEAN), "full": dict(FULL)},
        "cpu_us_per_connection": {name: asdict(results.cost(name)) for name in results.samples},
        "over_lean": _over(results, LEAN_NAME),
        "over_full": _over(results, FULL_NAME),
        "over_floor": {
            "lean": asdict(results.over_floor(LEAN_NAME, LEAN)),
            "full": asdict(results.over_floor(FULL_NAME, FULL)),
        },
        "bars": [asdict(bar) for bar in results.bars()],
    }


def _over(results: Results, ours: str) -> dict[str, object]:
    others = (name for name in results.samples if name != ours)
    return {name: asdict(results.over(name, ours)) for name in others}


def as_run(sample: Sample) -> dict[str, object]:
    """One run; processor time in microseconds, of the whole process and of its workers alone."""
    return {
        "cpu_us_per_connection": sample.cpu_us,
        "user_us": sample.run.user_us,
        "system_us": sample.run.system_us,
        "workers_us": sample.counted.own_cpu_us,
        "completed": sample.counted.completed,
        "failed": sample.counted.failed,
        "seconds": sample.run.seconds,
        "busy": {**asdict(sample.run.busy), "generator_process": sample.run.own_share},
    }
