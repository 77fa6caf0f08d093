"""The results of `make bench-validity`: the file that is kept, and the page made of it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tlslab.analysis.stats.proportion import proportion_interval

ROOT = Path(__file__).parent.parent
FILE = ROOT / "bench" / "validity.json"
PAGE = ROOT / "docs" / "validity.md"

# At most this share of runs of equal cells may have a false difference.
ALARM_BAR = 0.05

# A slowdown of 5 % is to be found so often, where trials differ by this at most within a block.
FOUND_BAR = 0.9
BAR_NOISE = 0.02
BAR_PLANS = ("fixed, 10 blocks", "until 2 %, 15 blocks at most")


@dataclass(frozen=True)
class Equal:
    """Simulated runs of equal cells: how many have a false difference in a family, or in either."""

    plan: str
    runs: int
    ranking: int
    table: int
    either: int


@dataclass(frozen=True)
class Planted:
    """Simulated runs with a slowdown: how many find it; `blocks` is the mean of those made."""

    plan: str
    noise: float
    slower: float
    runs: int
    found: int
    blocks: float


@dataclass(frozen=True)
class By:
    """Real runs by one ranking: equal servers that were set apart, and slower ones found."""

    estimate: str
    runs: int
    alarms: int
    found: int
    ratio: float | None
    noise: float | None


@dataclass(frozen=True)
class Longer:
    """The trials of one day cut into longer runs, judged by one ranking.

    `seconds` is what the two cells of such a run take.
    """

    estimate: str
    blocks: int
    seconds: float
    runs: int
    alarms: int
    found: int


@dataclass(frozen=True)
class Real:
    """Real runs of one day; `longer` where their trials were at hand."""

    created: str
    tlslab: str
    processor: str
    processors: int
    kernel: str
    command: str
    blocks: int
    measure_ms: int
    by: tuple[By, ...]
    longer: tuple[Longer, ...] = ()


@dataclass(frozen=True)
class Contents:
    """All results."""

    equal: tuple[Equal, ...] = ()
    planted: tuple[Planted, ...] = ()
    real: tuple[Real, ...] = ()

    def missed(self) -> list[str]:
        """The bars that are not met; real runs miss theirs only where chance is excluded."""
        return list(self._missed())

    def _missed(self) -> Iterator[str]:
        for each in self.equal:
            for family, count in (("ranking", each.ranking), ("table", each.table)):
                if count > ALARM_BAR * each.runs:
                    yield f"{each.plan}: {count} of {each.runs} runs with a false {family}"
        for planted in self.planted:
            held = planted.plan in BAR_PLANS and planted.noise <= BAR_NOISE
            if held and planted.found < FOUND_BAR * planted.runs:
                yield f"{planted.plan}: {planted.found} of {planted.runs} slowdowns found"
        for estimate, runs, alarms in self.totals():
            if proportion_interval(alarms, runs)[0] > ALARM_BAR:
                yield f"real runs by {estimate}: {alarms} false alarms of {runs}"

    def totals(self) -> Iterator[tuple[str, int, int]]:
        """Each estimate with its real runs and their false alarms, of all days."""
        found = [by for real in self.real for by in real.by]
        for name in dict.fromkeys(by.estimate for by in found):
            mine = [by for by in found if by.estimate == name]
            yield name, sum(by.runs for by in mine), sum(by.alarms for by in mine)


def read(path: Path) -> Contents:
    """The results that are kept; none where there is no file."""
    if not path.exists():
        return Contents()
    data = json.loads(path.read_text("utf-8"))
    return Contents(
        tuple(Equal(**each) for each in data["equal"]),
        tuple(Planted(**each) for each in data["planted"]),
        tuple(_day(each) for each in data["real"]),
    )


def _day(data: Mapping[str, Any]) -> Real:
    by = tuple(By(**each) for each in data["by"])
    longer = tuple(Longer(**each) for each in data.get("longer", ()))
    return Real(**{**data, "by": by, "longer": longer})


def write(path: Path, contents: Contents) -> None:
    """Keeps the results."""
    path.write_text(json.dumps(asdict(contents), indent=1) + "\n", "utf-8")


def page(contents: Contents) -> str:
    """The page, in Markdown."""
    parts = [_HEAD, *_equal(contents.equal), _PLANTED, *_planted(contents.planted), _REAL]
    return "\n".join([*parts, *_real(contents)]) + "\n"


def _equal(rows: tuple[Equal, ...]) -> Iterator[str]:
    for row in rows:
        counts = (row.ranking, row.table, row.either)
        yield (
            f"| {row.plan} | {row.runs:,} | " + " | ".join(_of(n, row.runs) for n in counts) + " |"
        )


def _planted(rows: tuple[Planted, ...]) -> Iterator[str]:
    for row in rows:
        found = _of(row.found, row.runs)
        yield f"| {row.plan} | {100 * row.noise:g} % | {row.blocks:.1f} | {found} |"


def _real(contents: Contents) -> Iterator[str]:
    for row in contents.real:
        where = f"{row.processors} x {row.processor}, Linux {row.kernel}"
        for by in row.by:
            noise = "" if by.noise is None else f"{100 * by.noise:.1f} %"
            ratio = "" if by.ratio is None else f"{by.ratio:.3f}"
            yield (
                f"| {row.created[:10]} | {where} | `{by.estimate}` | {by.runs} | "
                f"{_of(by.alarms, by.runs)} | {_of(by.found, by.runs)} | {ratio} | {noise} | "
                f"`{row.command}` |"
            )
    for name, runs, alarms in contents.totals():
        yield f"\nAll real runs by `{name}`: {runs}, with {_of(alarms, runs)} false alarms."
    longer = [(real, each) for real in contents.real for each in real.longer]
    if longer:
        yield _LONGER
    for real, each in longer:
        yield (
            f"| {real.created[:10]} | `{each.estimate}` | {each.blocks} | {each.seconds:.0f} s | "
            f"{each.runs} | {_of(each.alarms, each.runs)} | {_of(each.found, each.runs)} |"
        )


def _of(count: int, runs: int) -> str:
    """A count with its share and the exact interval of that."""
    low, high = proportion_interval(count, runs)
    share = 100 * count / runs if runs else 0.0
    return f"{count} ({share:.1f} %; 95 %: {100 * low:.1f} to {100 * high:.1f})"


_HEAD = """\
# Does "95 %" mean 95 %?

`make bench-validity` measures how often tlslab calls equal things different, and how often it finds
a slowdown that is there ([ADR 0062](adr/0062-the-self-test-of-a-machine.md)). The command writes
this page; the numbers stand in `bench/validity.json`.

## Simulated runs of equal cells

Each run has two to six equal cells in turn. The value of a trial is the product of effects of block
(5 %), process start, window and requests (2 % together). The costs of both sides, with their user
and system parts, are drawn with the rate. Values go through the functions that judge real runs. The
two families of a report keep 5 % each: the ranking by connections/s (every pair of cells), and the
table of ratios (every cell and estimate). No promise is made for both together; the column
"either" counts runs with a false difference in any of the two.

Bars: 5 % of the runs at most in each family. A slowdown of 5 % has to be found in at least 9 of 10
runs with ten blocks, or with fifteen at most of a run that ends when settled, if the noise of a
trial is 2 % or less.

| plan | runs | ranking | table of ratios | either |
|---|---|---|---|---|"""

_PLANTED = """
## Simulated slowdowns of 5 %

Two cells, one 5 % slower. "Found": the ranking has that cell behind the other. The noise is the
standard deviation of a trial within its block; that of a ratio is 1.4 times as large.

| plan | noise | blocks made | found |
|---|---|---|---|"""

_REAL = """
## Real runs

Each run has five blocks: the reference server under two names, and one that burns 5 % of the
processor time of new connections (`tlslab-serve --burn 5%`), each trial with a fresh process, in
random order. The noise is the standard deviation of the ratio of the equal servers in one block.
`make bench-validity` makes 100 such runs, which takes some 35 minutes; the table has those that
were made.

| date | machine | ranked by | runs | false alarms | slowdowns found | ratio | noise | command |
|---|---|---|---|---|---|---|---|---|"""

_LONGER = """
### The same trials in longer runs

What a budget buys on such a machine: the trials of one day cut into fewer runs of more blocks, of
two cells each. The rows of a day are of the same trials: they are not independent of each other.

| date | ranked by | blocks | a run takes | runs | false alarms | slowdowns of 5 % found |
|---|---|---|---|---|---|---|"""
