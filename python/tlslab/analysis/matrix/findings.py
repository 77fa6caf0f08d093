"""The findings of a run of the kind `matrix`: what its cells' estimates establish. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tlslab.analysis.compare import Measured, compare
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.ranking import Ranked, leaders, rank, settings, ties
from tlslab.analysis.stats.share import share
from tlslab.analysis.stats.steady_state import MIN_SLICES, rates
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CLIENT_COST,
    CONNECTIONS,
    CONNECTIONS_PER_CPU,
    OPEN_REQUESTS,
    SERVER_COST,
)
from tlslab.domain.finding import Finding, Values
from tlslab.domain.run import TargetInfo
from tlslab.domain.trial import Trial
from tlslab.domain.wording import setting_of


def findings(
    cells: Sequence[Measured], baseline: Mapping[str, str], targets: Mapping[str, TargetInfo]
) -> tuple[Finding, ...]:
    """For each setting: the answer, the cost of a connection on each side, and the kernel's part.

    `targets` has the server of each cell by the cell's key.
    """
    found: list[Finding | None] = []
    for setting in settings(cells, baseline):
        mates = [
            c
            for c in cells
            if setting_of(c.summary.factors, baseline) == setting and not c.summary.without_tls
        ]
        reporter = _Reporter(mates, setting, targets)
        found += [
            reporter.answer(),
            reporter.cheapest(),
            reporter.costs(),
            reporter.kernel_share(),
            reporter.kept_open(),
        ]
    return tuple(finding for finding in found if finding is not None)


def short_measurements(trials: Sequence[Trial]) -> Finding | None:
    """A finding if the measurements were too short to show whether the rate was steady."""
    runs = [run.record for trial in trials if (run := trial.runs.get("capacity")) is not None]
    if not runs or max(len(rates(record.intervals)) for record in runs) >= MIN_SLICES:
        return None
    return Finding(
        "too_short_for_steady_state",
        values={"seconds": max(record.seconds for record in runs)},
    )


class _Reporter:
    """The findings on the cells of one setting."""

    def __init__(
        self,
        cells: Sequence[Measured],
        setting: Mapping[str, str],
        targets: Mapping[str, TargetInfo],
    ) -> None:
        self._cells = cells
        self._setting = setting
        self._targets = targets

    def answer(self) -> Finding | None:
        """The cell that carries most connections, and its lead; else the reason for none."""
        ranked = rank(self._cells, CONNECTIONS)
        if not ranked:
            return self._lower_bounds()
        best = ranked[0].cell
        if not _enough(best, CONNECTIONS):
            return None
        unsaturated = [c.summary.key for c in self._cells if CONNECTIONS in c.summary.unsaturated]
        values = {
            **self._lead(ranked, CONNECTIONS),
            "where": place_of(self._targets[best.summary.key], self._setting),
            "unsaturated": unsaturated,
        }
        return Finding("answer", values=values, cells=_keys(ranked))

    def _lead(self, ranked: Sequence[Ranked], estimate: str) -> Values:
        """The first cell, its ratios to the best and the slowest one that it beats, and its ties.

        A ratio is a lower bound where the first cell is one.
        """
        best = ranked[0].cell
        beaten = [ranked[place].cell for place in ranked[0].beats]
        slower = [cell for cell in beaten if _enough(cell, estimate)]
        rivals = slower if len(slower) < 2 else [slower[0], slower[-1]]
        return {
            "best": best.summary.key,
            "estimate": estimate,
            "times": [
                {"cell": other.summary.key, "ratio": _ratio(best, other, estimate)}
                for other in rivals
            ],
            "ties": ties(leaders(ranked), estimate),
        }

    def _lower_bounds(self) -> Finding | None:
        """The cell with the greatest lower bound, without ratios, if there are only bounds."""
        found = [
            c for c in self._cells if c.summary.verdict == "at_least" and _enough(c, CONNECTIONS)
        ]
        if not found:
            return None
        bounded = sorted(found, key=lambda cell: -cell.summary.estimates[CONNECTIONS].value)
        best = bounded[0].summary.key
        values = {"best": best, "where": place_of(self._targets[best], self._setting)}
        cells = tuple(cell.summary.key for cell in bounded)
        return Finding("answer", values=values, cells=cells)

    def cheapest(self) -> Finding | None:
        """The cheapest cells for the server, if none of them is among the fastest."""
        by_cost, by_rate = rank(self._cells, SERVER_COST), rank(self._cells, CONNECTIONS)
        cheap, fast = leaders(by_cost), leaders(by_rate)
        if len(cheap) == len(by_cost) or any(cell in fast for cell in cheap):
            return None
        if not _enough(cheap[0], SERVER_COST):
            return None
        values = {
            "setting": self._setting,
            "best": cheap[0].summary.key,
            "ties": ties(cheap, SERVER_COST),
        }
        cells = tuple(cell.summary.key for cell in cheap)
        return Finding("cheapest_for_server", values=values, cells=cells)

    def costs(self) -> Finding | None:
        """The cost of a connection to server and to client, with the leading cell.

        The ratio is None for times of two machines, whose processors may be faster or slower.
        """
        leader = self._leader()
        if leader is None or CLIENT_COST not in leader.values or SERVER_COST not in leader.values:
            return None
        if not _enough(leader, CLIENT_COST) or not _enough(leader, SERVER_COST):
            return None
        key, ratio = leader.summary.key, None
        if CONNECTIONS_PER_CPU in leader.values:
            both = compare(_as(leader, CLIENT_COST), _as(leader, SERVER_COST), "cost")
            ratio = None if both is None else both.as_estimate
        values = {"setting": self._setting, "cell": key, "ratio": ratio}
        return Finding("cost_split", values=values, cells=(key,))

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
        values = {
            "setting": self._setting,
            "cheapest": first.summary.key,
            "dearest": last.summary.key,
            "system": system.as_estimate,
            "user": user.as_estimate,
            "shares": [_kernel_share(first), _kernel_share(last)],
        }
        cells = (first.summary.key, last.summary.key)
        return Finding("kernel_share", values=values, cells=cells)

    def kept_open(self) -> Finding | None:
        """The cell that answers most requests on open connections, and the cost of a request."""
        ranked = rank(self._cells, OPEN_REQUESTS)
        if not ranked or not _enough(ranked[0].cell, OPEN_REQUESTS):
            return None
        values = {"setting": self._setting, **self._lead(ranked, OPEN_REQUESTS)}
        return Finding("kept_open", values=values, cells=_keys(ranked))

    def _leader(self) -> Measured | None:
        for estimate in (CONNECTIONS, SERVER_COST, CLIENT_COST):
            if ranked := rank(self._cells, estimate):
                return ranked[0].cell
        return None


def place_of(target: TargetInfo, setting: Mapping[str, str]) -> Values:
    """A server and its size, beside the setting of the cells: no name if it runs elsewhere."""
    return {
        "server": target.name if target.managed else "",
        "host": target.host,
        "processors": len(target.processors),
        "setting": setting,
    }


def _keys(ranked: Sequence[Ranked]) -> tuple[str, ...]:
    return tuple(each.cell.summary.key for each in ranked)


def _enough(cell: Measured, estimate: str) -> bool:
    """Whether a cell has enough trials for a finding."""
    return len(cell.values.get(estimate, {})) >= FEWEST


def _as(cell: Measured, estimate: str) -> Measured:
    """The cell with one of its estimates under the name `cost`, for comparison with another."""
    return replace(cell, values={"cost": cell.values[estimate]})


def _ratio(best: Measured, other: Measured, estimate: str) -> Estimate:
    comparison = compare(best, other, estimate)
    assert comparison is not None  # one of the pair beats the other: they share blocks
    return comparison.as_estimate


def _kernel_share(cell: Measured) -> Estimate:
    """The kernel's part of the server's cost, block by block."""
    system, both = cell.values[f"{SERVER_COST}_system"], cell.values[SERVER_COST]
    shares = [min(1.0, system[block] / both[block]) for block in both if block in system]
    return share(shares, cell.anytime)
