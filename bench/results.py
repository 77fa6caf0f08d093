"""The results of the bench, block by block, and their comparison with the project's bars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.child import Run
from bench.floor import LEAN, Floor
from bench.intervals import Interval, mean, ratio, share
from bench.parsers import Counted

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
