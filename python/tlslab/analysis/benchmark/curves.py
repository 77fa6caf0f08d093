"""Curves: cells that differ only in their threads, and what the shape of a curve shows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tlslab.analysis.benchmark.fork_estimates import WARMING_UP
from tlslab.analysis.compare import Measured
from tlslab.analysis.stats.scaling import Block, Knee, Law, find_knee, fit_law
from tlslab.domain.benchmark import ENGINE, SHARED, split_words
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPERATIONS

BENCHMARK_WORDS: Mapping[str, str] = {
    "handshake-tls12": "TLS 1.2 handshakes",
    "handshake-tls13": "TLS 1.3 handshakes",
    "sign": "XML signatures",
    "draw": "messages drawn",
}

KEY_WORDS: Mapping[str, str] = {
    "memory": "key in memory",
    "pkcs11": "key behind PKCS #11",
    "cluster": "key on the cluster",
}

# Runtime, benchmark, key store, split.
Place = tuple[str, str, str, str]


@dataclass(frozen=True)
class Curve:
    """One benchmark on one runtime with one key store, over threads in rising order.

    `bare`: the numbers of threads that were tried and have no result. `split`: a level of the
    factor; empty if both sides share all processors.
    """

    runtime: str
    benchmark: str
    keys: str
    cells: Mapping[int, Measured]
    law: Law | None
    knee: Knee | None
    bare: tuple[int, ...] = ()
    split: str = ""

    @property
    def name(self) -> str:
        """The levels that distinguish the curve from the other curves of its benchmark."""
        runtime = "engine" if self.runtime == ENGINE else self.runtime.replace("-", " ").upper()
        apart = f", {split_words(self.split)}" if self.split else ""
        return f"{runtime}, {KEY_WORDS[self.keys]}{apart}"

    @property
    def what(self) -> str:
        """The benchmark in words."""
        return BENCHMARK_WORDS[self.benchmark]

    @property
    def first(self) -> Measured:
        """The cell with the fewest threads."""
        return self.cells[min(self.cells)]

    @property
    def warming(self) -> bool:
        """Whether the processes of any of its cells were still warming up."""
        notes = (note for cell in self.cells.values() for note in cell.summary.reasons)
        return any(note.code == WARMING_UP for note in notes)

    def estimates(self, name: str) -> list[tuple[int, Estimate]]:
        """An estimate over threads, for the cells that have it."""
        return [
            (threads, cell.summary.estimates[name])
            for threads, cell in self.cells.items()
            if name in cell.summary.estimates
        ]

    @property
    def best(self) -> tuple[int, Estimate]:
        """The highest throughput, and its number of threads."""
        return max(self.estimates(OPERATIONS), key=lambda pair: pair[1].value)


def make_curves(cells: Sequence[Measured]) -> tuple[Curve, ...]:
    """All curves with at least one value whose sides share all processors, in the cells' order."""
    return tuple(curve for curve in _curves(cells) if not curve.split)


def make_splits(cells: Sequence[Measured]) -> tuple[Curve, ...]:
    """The same of cells whose sides have processors of their own."""
    return tuple(curve for curve in _curves(cells) if curve.split)


def _curves(cells: Sequence[Measured]) -> Iterator[Curve]:
    groups: dict[Place, dict[int, Measured]] = {}
    bare: dict[Place, list[int]] = {}
    for cell in cells:
        factors = cell.summary.factors
        split = factors.get("split", SHARED)
        place = (
            factors["runtime"],
            factors["benchmark"],
            factors["keys"],
            "" if split == SHARED else split,
        )
        if cell.values.get(OPERATIONS):
            groups.setdefault(place, {})[int(factors["threads"])] = cell
        elif cell.summary.verdict != "unsupported":
            bare.setdefault(place, []).append(int(factors["threads"]))
    for place, members in groups.items():
        runtime, benchmark, keys, split = place
        ordered = dict(sorted(members.items()))
        blocks = list(throughput_by_block(ordered).values())
        tried = tuple(sorted(bare.get(place, ())))
        law, knee = fit_law(blocks), find_knee(blocks)
        yield Curve(runtime, benchmark, keys, ordered, law, knee, tried, split)


def throughput_by_block(cells: Mapping[int, Measured]) -> Mapping[int, Block]:
    """For each block, by its number: the throughput over threads."""
    blocks: dict[int, dict[int, float]] = {}
    for threads, cell in cells.items():
        for block, value in cell.values[OPERATIONS].items():
            blocks.setdefault(block, {})[threads] = value
    return blocks


def find_curve(curves: Sequence[Curve], runtime: str, benchmark: str, keys: str) -> Curve | None:
    """The curve with these levels, if there is one."""
    place = (runtime, benchmark, keys)
    return next((c for c in curves if (c.runtime, c.benchmark, c.keys) == place), None)
