"""The findings of a run of the kind `matrix`: sentences, each with its intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tlslab.analysis.compare import Measured, compare
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.ranking import Ranked, leaders, rank, settings, ties_words
from tlslab.analysis.stats.share import share
from tlslab.analysis.stats.steady_state import MIN_SLICES
from tlslab.domain.estimates import (
    CLIENT_COST,
    CONNECTIONS,
    CONNECTIONS_PER_CPU,
    OPEN_CLIENT_COST,
    OPEN_REQUESTS,
    OPEN_SERVER_COST,
    SERVER_COST,
)
from tlslab.domain.finding import CellSummary, Comparison, Finding
from tlslab.domain.run import RunContents, TargetInfo
from tlslab.domain.trial import Trial
from tlslab.domain.wording import (
    cell_label,
    figure,
    joined,
    level_label,
    number_word,
    ratio_figure,
    setting_of,
    share_with_interval,
    short_label,
    with_interval,
)

# Present only if both sides' processor time is that of one machine.


def findings(
    cells: Sequence[Measured], baseline: Mapping[str, str], targets: Mapping[str, TargetInfo]
) -> tuple[Finding, ...]:
    """For each setting: the answer, the cost of a connection on each side, and the kernel's part.

    `targets` has the server of each cell by the cell's key.
    """
    found: list[Finding] = []
    for setting in settings(cells, baseline):
        mates = [c for c in cells if setting_of(c.summary.factors, baseline) == setting]
        reporter = _Reporter(mates, setting, baseline, targets)
        sentences = (
            reporter.answer(),
            reporter.cheapest(),
            reporter.costs(),
            reporter.kernel_share(),
            reporter.kept_open(),
        )
        found += [finding for finding in sentences if finding is not None]
    return tuple(found)


def short_measurements(trials: Sequence[Trial]) -> Finding | None:
    """A finding if the measurements were too short to show whether the rate was steady."""
    runs = [run.record for trial in trials if (run := trial.runs.get("capacity")) is not None]
    if not runs or max(len(record.intervals) for record in runs) >= MIN_SLICES:
        return None
    seconds = max(record.seconds for record in runs)
    text = (
        f"Measurements of {seconds:.1f} s are too short to see whether the rate was steady in "
        "them: take longer ones (measure_ms) before relying on small differences."
    )
    return Finding("too_short_for_steady_state", text)


class _Reporter:
    """The findings on the cells of one setting."""

    def __init__(
        self,
        cells: Sequence[Measured],
        setting: Mapping[str, str],
        baseline: Mapping[str, str],
        targets: Mapping[str, TargetInfo],
    ) -> None:
        self._cells = cells
        self._where = cell_label(setting)
        self._setting = setting
        self._varied = tuple(baseline)
        self._targets = targets

    def answer(self) -> Finding | None:
        """The cell that carries most connections, and its lead; else the reason for none."""
        ranked = rank(self._cells, CONNECTIONS)
        if not ranked:
            return self._lower_bounds()
        best = ranked[0].cell
        if not _enough(best, CONNECTIONS):
            return None
        carried = _interval(best, CONNECTIONS)
        text = f"{self._name(best)} carries {carried} new connections/s {self._on(best)}"
        others = [self._times(best, other) for other in self._rivals(ranked, CONNECTIONS)]
        text += f": {' and '.join(others)}." if others else "."
        text += ties_words(leaders(ranked), CONNECTIONS, self._name)
        if unsaturated := [
            self._name(c) for c in self._cells if CONNECTIONS in c.summary.unsaturated
        ]:
            text += (
                " Not ranked by rate, because neither the server nor the generator was the limit: "
                f"{joined(unsaturated)}."
            )
        return Finding("answer", text, tuple(each.cell.summary.key for each in ranked))

    def _rivals(self, ranked: Sequence[Ranked], estimate: str) -> list[Measured]:
        """Of the cells that the first one beats: the best one and the slowest one."""
        beaten = [ranked[place].cell for place in ranked[0].beats]
        slower = [cell for cell in beaten if _enough(cell, estimate)]
        if not slower:
            return []
        return slower[:1] if len(slower) == 1 else [slower[0], slower[-1]]

    def _times(self, best: Measured, other: Measured, estimate: str = CONNECTIONS) -> str:
        comparison = compare(best, other, estimate)
        assert comparison is not None  # one of the pair beats the other: they share blocks
        at_least = "at least " if best.is_bound(estimate) else ""
        return f"{at_least}{_ratio(comparison)} times {self._name(other)}"

    def _lower_bounds(self) -> Finding | None:
        bounded = self._bounded()
        if not bounded:
            return None
        best = bounded[0]
        text = (
            f"{self._name(best)} carries at least {_rate(best)} new connections/s "
            f"{self._on(best)}. The generator was the limit: rates are lower bounds and are not "
            "ranked; costs are."
        )
        return Finding("answer", text, tuple(cell.summary.key for cell in bounded))

    def _bounded(self) -> list[Measured]:
        """The cells whose rate is a lower bound, greatest first."""
        found = [
            c for c in self._cells if c.summary.verdict == "at_least" and _enough(c, CONNECTIONS)
        ]
        return sorted(found, key=lambda cell: -cell.summary.estimates[CONNECTIONS].value)

    def cheapest(self) -> Finding | None:
        """The cheapest cells for the server, if none of them is among the fastest."""
        by_cost, by_rate = rank(self._cells, SERVER_COST), rank(self._cells, CONNECTIONS)
        cheap, fast = leaders(by_cost), leaders(by_rate)
        if len(cheap) == len(by_cost) or any(cell in fast for cell in cheap):
            return None
        best = cheap[0]
        if not _enough(best, SERVER_COST):
            return None
        text = (
            f"{self._where}: {self._name(best)} costs the server least, "
            f"{_interval(best, SERVER_COST)} microseconds of processor time for a new connection."
        )
        text += ties_words(cheap, SERVER_COST, self._name)
        return Finding("cheapest_for_server", text, tuple(cell.summary.key for cell in cheap))

    def costs(self) -> Finding | None:
        """The cost of a connection to server and to client, with the leading cell."""
        leader = self._leader()
        if leader is None or CLIENT_COST not in leader.values or SERVER_COST not in leader.values:
            return None
        if not _enough(leader, CLIENT_COST) or not _enough(leader, SERVER_COST):
            return None
        text = (
            f"{self._where}: a new connection {self._with(leader)} costs the server "
            f"{_interval(leader, SERVER_COST)} microseconds of processor time and a client that "
            f"verifies everything {_interval(leader, CLIENT_COST)}"
        )
        # Times of two machines, whose processors may be faster or slower, have no ratio.
        if CONNECTIONS_PER_CPU in leader.values:
            both = compare(_as(leader, CLIENT_COST), _as(leader, SERVER_COST), "cost")
            text += "" if both is None else f", {_ratio(both)} times as much"
        return Finding("cost_split", f"{text}.", (leader.summary.key,))

    def kernel_share(self) -> Finding | None:
        """Whether the kernel's part of the server's cost depends on the compared levels."""
        ordered = [
            each.cell for each in rank(self._cells, SERVER_COST) if _enough(each.cell, SERVER_COST)
        ]
        if len(ordered) < 2:
            return None
        first, last = ordered[0], ordered[-1]
        system = compare(last, first, f"{SERVER_COST}_system")
        user = compare(last, first, f"{SERVER_COST}_user")
        if system is None or user is None:
            return None
        text = (
            f"{self._where}: in the kernel a connection {self._with(last)} costs the server "
            f"{_ratio(system)} times what one {self._with(first)} costs, in user space "
            f"{_ratio(user)} times. The kernel's share is {_kernel_share(first)} "
            f"{self._with(first)} and {_kernel_share(last)} {self._with(last)}."
        )
        return Finding("kernel_share", text, (first.summary.key, last.summary.key))

    def kept_open(self) -> Finding | None:
        """The cell that answers most requests on open connections, and the cost of a request."""
        ranked = rank(self._cells, OPEN_REQUESTS)
        if not ranked:
            return None
        best, by = ranked[0].cell, OPEN_REQUESTS
        if not _enough(best, by):
            return None
        others = [self._times(best, each, by) for each in self._rivals(ranked, by)]
        rate = _interval(best, by)
        text = (
            f"{self._where}: on connections kept open {self._name(best)} answers {rate} requests/s"
        )
        text += f", {' and '.join(others)}." if others else "."
        text += ties_words(leaders(ranked), by, self._name)
        costs = [
            f"{whom} {_interval(best, name)}"
            for whom, name in (("the server", OPEN_SERVER_COST), ("the client", OPEN_CLIENT_COST))
            if name in best.summary.estimates
        ]
        text += f" A request costs {' and '.join(costs)} microseconds of processor time."
        keys = tuple(each.cell.summary.key for each in ranked)
        return Finding("kept_open", text, keys)

    def _leader(self) -> Measured | None:
        for estimate in (CONNECTIONS, SERVER_COST, CLIENT_COST):
            if ranked := rank(self._cells, estimate):
                return ranked[0].cell
        return None

    def _with(self, cell: Measured) -> str:
        """A cell's levels in the form that follows a noun: `with X25519`, `(direct, X25519)`."""
        return f"({self._name(cell)})" if len(self._varied) > 1 else f"with {self._name(cell)}"

    def _name(self, cell: Measured) -> str:
        levels = cell.summary.factors
        return short_label({name: levels[name] for name in self._varied})

    def _on(self, cell: Measured) -> str:
        return on_words(self._targets[cell.summary.key], self._setting)


def where_measured(contents: RunContents, cell: CellSummary) -> str:
    """The server of a cell and its size: `on one processor of nginx (TLS 1.3, ECDSA P-256)`."""
    deployment = contents.plan.cell(cell.key).deployment
    setting = setting_of(cell.factors, contents.experiment.baseline)
    return on_words(contents.environment.target_of(deployment), setting)


def on_words(target: TargetInfo, setting: Mapping[str, str]) -> str:
    """The server and its size: `on one processor of nginx (TLS 1.3, ECDSA P-256)`."""
    if not target.managed:
        rest = {name: level for name, level in setting.items() if name != "server"}
        host = level_label("server", setting.get("server", target.host))
        return f"on {host} ({cell_label(rest)})"
    said = {"server", "front", "processors"}
    rest = {name: level for name, level in setting.items() if name not in said}
    where = f" ({cell_label(rest)})" if rest or not setting else ""
    count = len(target.processors)
    if not count:
        return f"on {server_name(target)}{where}"
    plural = "processor" if count == 1 else "processors"
    return f"on {number_word(count)} {plural} of {server_name(target)}{where}"


# The lab's own server in a sentence.
_REFERENCE = {
    "reference": "the reference server",
    "reference-rustls": "the reference server on rustls",
}


def server_name(target: TargetInfo) -> str:
    """A managed server in a sentence: `the reference server`, `nginx behind haproxy`."""
    front, plus, back = target.name.partition("+")
    names = [_REFERENCE.get(each, each) for each in (back, front)]
    return " behind ".join(names) if plus else names[1]


def _enough(cell: Measured, estimate: str) -> bool:
    """Whether a cell has enough trials for a sentence."""
    return len(cell.values.get(estimate, {})) >= FEWEST


def _as(cell: Measured, estimate: str) -> Measured:
    """The cell with one of its estimates under the name `cost`, for comparison with another."""
    return replace(cell, values={"cost": cell.values[estimate]})


def _rate(cell: Measured) -> str:
    return figure(cell.summary.estimates[CONNECTIONS].value)


def _kernel_share(cell: Measured) -> str:
    """The kernel's part of the server's cost, block by block: `19 % (95 %: 17 to 21)`."""
    system, both = cell.values[f"{SERVER_COST}_system"], cell.values[SERVER_COST]
    shares = [min(1.0, system[block] / both[block]) for block in both if block in system]
    found = share(shares, cell.anytime)
    words = share_with_interval(found)
    return words if found.low is not None else f"{words} (no interval)"


def _interval(cell: Measured, name: str) -> str:
    """`3,412 (95 %: 3,390 to 3,440)`; `at least 3,412` for a lower bound."""
    if cell.is_bound(name):
        return f"at least {figure(cell.summary.estimates[name].value)}"
    return with_interval(cell.summary.estimates[name])


def _ratio(comparison: Comparison) -> str:
    if comparison.low is None or comparison.high is None:
        return f"{ratio_figure(comparison.ratio)} (no interval)"
    low, high = ratio_figure(comparison.low), ratio_figure(comparison.high)
    return f"{ratio_figure(comparison.ratio)} (95 %: {low} to {high})"
