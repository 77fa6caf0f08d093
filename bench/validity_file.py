"""The kept results of `make bench-validity` and `make bench-gate`, and the requirements."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench.provenance import ROOT, Made
from tlslab.analysis.stats.share import proportion_interval

FILE = ROOT / "bench" / "validity.json"

# The largest allowed share of runs of equal cells with a false difference.
ALARM_BAR = 0.05
_MOST = f"{100 * ALARM_BAR:g} %"

# The share of runs that must find a slowdown of 5 %: simulated, if trials differ by at most this
# within a block; and on real servers, by a run of two cells that takes no longer than this, in
# seconds. The rate has more noise than the processor time, because other programs affect it, too.
FOUND_BAR = 0.9
BAR_NOISE = 0.02
BAR_PLANS = ("fixed, 10 blocks", "until 2 %, 15 blocks at most")
BUDGETS_S = {"connections_per_s": 80.0, "server_cpu_us_per_connection": 40.0}


@dataclass(frozen=True)
class Equal:
    """Simulated runs of equal cells: how many have a false difference in a family, or in either.

    `first` has a letter for each of the first runs: r ranking, t table, b both, - neither.
    """

    plan: str
    runs: int
    ranking: int
    table: int
    either: int
    first: str = ""


@dataclass(frozen=True)
class Planted:
    """Simulated runs with a slowdown: how many find it; `blocks` is the mean number made.

    `first` has the blocks of each of the first runs, as letters with a for 0, a capital if the
    slowdown was found.
    """

    plan: str
    noise: float
    slower: float
    runs: int
    found: int
    blocks: float
    first: str = ""


@dataclass(frozen=True)
class By:
    """Real runs by one ranking: equal servers that were set apart, slower ones that were found."""

    estimate: str
    runs: int
    alarms: int
    found: int
    ratio: float | None
    noise: float | None


@dataclass(frozen=True)
class Longer:
    """The trials of one day cut into longer runs, judged by one ranking.

    `seconds` is the duration of such a run of two cells.
    """

    estimate: str
    blocks: int
    seconds: float
    runs: int
    alarms: int
    found: int


@dataclass(frozen=True)
class Real:
    """Real runs of one day; `longer` if their trials were at hand."""

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
    commit: str = ""

    def within_budget(self) -> Iterator[Longer]:
        """For each estimate, the longest runs within its budget."""
        for name, rows in _by_estimate(self.longer).items():
            if able := [row for row in rows if row.seconds <= BUDGETS_S[name]]:
                yield max(able, key=lambda row: row.blocks)

    def noise_words(self, estimate: str) -> str:
        """The noise of one block by an estimate; empty if it is not known."""
        found = next((each.noise for each in self.by if each.estimate == estimate), None)
        return "" if found is None else f", noise {100 * found:.1f} %"


@dataclass(frozen=True)
class Gated:
    """Runs of docs/ci/gate.sh of one day: how many stopped the change, passed it, left it open.

    `planted`: the share of processor time that the server with the change burned, 0 for none.
    `gate` and `by`: the script's GATE and GATE_BY. `seconds`: the mean duration of a run.
    """

    created: str
    processor: str
    processors: int
    kernel: str
    command: str
    gate: str
    by: str
    blocks: int
    planted: float
    seconds: float
    stopped: int
    passed: int
    cannot_tell: int
    commit: str = ""

    @property
    def runs(self) -> int:
        """The number of all runs."""
        return self.stopped + self.passed + self.cannot_tell


@dataclass(frozen=True)
class Kills:
    """A passed run of `make test-kills`, recorded by `python -m bench.kills`.

    `trials`: the number that the interrupted run had to make. `rivals`: how often a second process
    asked for its folder.
    """

    created: str
    processor: str
    processors: int
    kernel: str
    command: str
    kills: int
    trials: int
    rivals: int
    seconds: float
    commit: str = ""


@dataclass(frozen=True)
class Bar:
    """A requirement, and the number of runs for or against it.

    `met`: the runs do not speak against it. `shown`: the whole 95 % interval of the share meets it.
    """

    what: str
    counted: int
    runs: int
    met: bool
    shown: bool

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if not self.met:
            return "not met"
        return "met" if self.shown else "not refuted"

    def words(self) -> str:
        """The requirement on one line."""
        return f"{self.verdict}: {self.what}: {self.counted} of {self.runs}"


@dataclass(frozen=True)
class Contents:
    """All results; `simulated` is the provenance of the first two, None if it was not kept."""

    equal: tuple[Equal, ...] = ()
    planted: tuple[Planted, ...] = ()
    real: tuple[Real, ...] = ()
    gated: tuple[Gated, ...] = ()
    kills: tuple[Kills, ...] = ()
    simulated: Made | None = None

    def missed(self) -> list[str]:
        """The bars that are not met."""
        return [bar.words() for bar in self.bars() if not bar.met]

    def bars(self) -> Iterator[Bar]:
        """All requirements."""
        yield from self._simulated_bars()
        yield from self.real_bars()

    def _simulated_bars(self) -> Iterator[Bar]:
        for each in self.equal:
            for family, count in (("ranking", each.ranking), ("table", each.table)):
                what = f"{each.plan}: runs with a false {family}, {_MOST} at most"
                shown = proportion_interval(count, each.runs)[1] <= ALARM_BAR
                yield Bar(what, count, each.runs, count <= ALARM_BAR * each.runs, shown)
        for planted in self.planted:
            if planted.plan in BAR_PLANS and planted.noise <= BAR_NOISE:
                what = f"{planted.plan}, noise {100 * planted.noise:g} %: slowdowns of 5 % found"
                yield _found(what, planted.found, planted.runs)

    def real_bars(self) -> Iterator[Bar]:
        """The bars on real servers. A bar of false alarms is missed only if chance is excluded."""
        for name, runs, alarms in self.totals():
            yield _alarms(f"false alarms by `{name}`", alarms, runs)
        for day in self.real:
            for row in day.within_budget():
                what = (
                    f"slowdowns of 5 % found by `{row.estimate}`, {day.created[:10]}"
                    f"{day.noise_words(row.estimate)}, in a run of "
                    f"{BUDGETS_S[row.estimate]:.0f} s at most (those kept: {row.seconds:.0f} s)"
                )
                yield _found(what, row.found, row.runs)
        for each in self.gated:
            where = f"by gate.sh, {each.created[:10]}, {each.blocks} blocks"
            if each.planted:
                what = f"planted slowdowns of {100 * each.planted:g} % stopped {where}"
                yield _found(what, each.stopped, each.runs)
            else:
                yield _alarms(f"equal servers stopped {where}", each.stopped, each.runs)

    def newest(self) -> "Contents":
        """The results with the real runs of the newest bench of each kind only.

        Those are the runs of this machine.
        """
        last = {
            kind: max((each.created for each in rows), default="")
            for kind, rows in (("real", self.real), ("gated", self.gated))
        }
        return replace(
            self,
            real=tuple(each for each in self.real if each.created == last["real"]),
            gated=tuple(each for each in self.gated if each.created == last["gated"]),
        )

    def totals(self) -> Iterator[tuple[str, int, int]]:
        """Each estimate with its real runs and their false alarms, of all days."""
        found = [by for real in self.real for by in real.by]
        for name in dict.fromkeys(by.estimate for by in found):
            mine = [by for by in found if by.estimate == name]
            yield name, sum(by.runs for by in mine), sum(by.alarms for by in mine)


def _by_estimate(rows: Iterable[Longer]) -> dict[str, list[Longer]]:
    found: dict[str, list[Longer]] = {}
    for row in rows:
        found.setdefault(row.estimate, []).append(row)
    return found


def _alarms(what: str, alarms: int, runs: int) -> Bar:
    text = f"{what}, {_MOST} at most"
    low, high = proportion_interval(alarms, runs)
    return Bar(text, alarms, runs, low <= ALARM_BAR, high <= ALARM_BAR)


def _found(what: str, found: int, runs: int) -> Bar:
    shown = proportion_interval(found, runs)[0] >= FOUND_BAR
    return Bar(f"{what}, 9 of 10 at least", found, runs, found >= FOUND_BAR * runs, shown)


def read(path: Path) -> Contents:
    """The kept results; none without the file."""
    if not path.exists():
        return Contents()
    data = json.loads(path.read_text("utf-8"))
    simulated = data.get("simulated")
    return Contents(
        tuple(Equal(**each) for each in data["equal"]),
        tuple(Planted(**each) for each in data["planted"]),
        tuple(_day(each) for each in data["real"]),
        tuple(Gated(**each) for each in data["gated"]),
        tuple(Kills(**each) for each in data["kills"]),
        None if simulated is None else Made(**simulated),
    )


def _day(data: Mapping[str, Any]) -> Real:
    by = tuple(By(**each) for each in data["by"])
    longer = tuple(Longer(**each) for each in data.get("longer", ()))
    return Real(**{**data, "by": by, "longer": longer})


def write(path: Path, contents: Contents) -> None:
    """Stores the results."""
    path.write_text(json.dumps(asdict(contents), indent=1) + "\n", "utf-8")
