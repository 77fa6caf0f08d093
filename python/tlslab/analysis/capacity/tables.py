"""The tables of a capacity experiment."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.points import (
    LoadPoint,
    by_fraction,
    censored,
    time_estimates,
    user_estimates,
)
from tlslab.analysis.capacity.remedies import Remedy
from tlslab.analysis.stats.estimate import estimate
from tlslab.domain.capacity import CapacityPlan, OpenLoopRules
from tlslab.domain.cell_names import percent_of_maximum
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CLIENT_BUSY,
    PER_SECOND,
    RESPONSE,
    SERVER_BUSY,
    SERVER_COST,
    SERVER_MEMORY,
    SERVICE,
    SHARE,
    USERS_ANSWERED,
    USERS_GAVE_UP,
    statistic,
)
from tlslab.domain.figure import DataTable, Marked, TableCell
from tlslab.domain.search import Converged, Inconclusive
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.validation import judged_words
from tlslab.domain.wording import percent

_PHASES = {
    "connect": "connect: SYN to SYN-ACK",
    "handshake": "handshake: to Finished",
    "first_byte": "first byte: request to response",
    "close": "whole: SYN to close",
}


# On one screen, the columns of a server's loads.
_LOADS = ("offered/s", "completed/s", "mean ms", "p50 ms", "p99 ms", "server busy", "verdict")


def tables(cells: Sequence[CapacityCell], plan: CapacityPlan) -> tuple[DataTable, ...]:
    """All tables that have rows."""
    maxima = _maxima(cells, plan)
    points = [_points(number, cell, plan.open_loop) for number, cell in enumerate(cells)]
    if len(points) == 1 and points[0].rows:
        # Of one server its loads are the answer.
        maxima, points = replace(maxima, brief=()), [replace(points[0], brief=_LOADS)]
    made = [maxima, *points]
    made += [_remedies(cell, number) for number, cell in enumerate(cells)]
    made += [_validation(cells)]
    return tuple(table for table in made if table.rows)


def _maxima(cells: Sequence[CapacityCell], plan: CapacityPlan) -> DataTable:
    columns = [
        "server", "connections/s at most", "server µs/connection", "server busy", "at once",
        "generator busy", "memory MB", "verdict", "search",
    ]  # fmt: skip
    # On one screen.
    brief = ["server", "connections/s at most", "server µs/connection", "server busy", "verdict"]
    if plan.objective is not None:
        met = f"connections/s with {plan.objective}"
        columns[2:2] = [met, "of the maximum"]
        brief.insert(2, met)
    rows = []
    for cell in cells:
        found = cell.summary.estimates
        row: list[TableCell] = [
            cell.name,
            cell.maximum,
            found.get(SERVER_COST),
            found.get(SERVER_BUSY),
            cell.connections,
            found.get(CLIENT_BUSY),
            _megabytes(found.get(SERVER_MEMORY)),
            cell.summary.verdict.replace("_", " "),
            _search(cell),
        ]
        if plan.objective is not None:
            row[2:2] = [_capacity(cell), share_cell(cell)]
        rows.append(tuple(row))
    return DataTable(
        id="maxima",
        title="The maximum",
        caption=(
            "A closed loop at the concurrency that the search found; intervals of 95 % over "
            f"trials, from {LEAST_BLOCKS} on. The load that meets the objective is one of the "
            "loads below: by all its runs, below every load that missed it. Its share has the "
            "interval of the maximum alone."
        ),
        columns=tuple(columns),
        rows=tuple(rows),
        brief=tuple(brief),
    )


def _search(cell: CapacityCell) -> str | None:
    if cell.summary.verdict == "unsupported":
        return None
    match cell.search:
        case Converged():
            return f"converged ({len(cell.levels)} levels)"
        case Inconclusive(reason, message):
            return f"inconclusive ({reason.replace('_', ' ')}): {message}"
        case _:
            return "not ended"


def _capacity(cell: CapacityCell) -> TableCell:
    found = cell.capacity
    if found is None:
        return None
    load = f"{found.load.value:,.0f}"
    if found.bound == "below":
        return f"below {load}"
    end = "" if found.missed is None else f" to below {found.missed.offered:,.0f}"
    return f"{load}{end} ({'confirmed' if found.is_confirmed else 'not confirmed'})"


def share_cell(cell: CapacityCell) -> Marked | None:
    """The share of the maximum, as a bound; None if nothing is known.

    A load that is not confirmed has no share.
    """
    if cell.capacity is None or cell.share is None:
        return None
    if cell.capacity.bound == "below":
        return Marked("below", cell.share)
    if not cell.capacity.is_confirmed or cell.open:
        return None
    return Marked("at least", cell.share)


def _megabytes(value: Estimate | None) -> Estimate | None:
    if value is None:
        return None
    low, high = (None if v is None else v / 1e6 for v in (value.low, value.high))
    return replace(value, value=value.value / 1e6, low=low, high=high, unit="MB")


_USERS = "With patience: the share of users who gave up for good, and who were answered in the end."


def _points(number: int, cell: CapacityCell, rules: OpenLoopRules) -> DataTable:
    rows = tuple(_row(f, points, rules) for f, points in by_fraction(cell.loads).items())
    with_users = rules.patience_ms is not None
    return DataTable(
        id=f"loads-{number}",
        title=f"Response times by offered load: {cell.name}",
        caption=(
            "Response time: from the intended start; service time: from the actual one. At once: "
            "connections in flight, mean. A load is judged by its worst run; 'generator late' says "
            "nothing of the server."
            + (f" {_USERS}" if with_users else "")
        ),
        columns=(
            "of the maximum", "offered/s", "completed/s", "mean ms", "p50 ms", "p90 ms", "p99 ms",
            *(("gave up", "answered") if with_users else ()),
            "service p50 ms", "service p99 ms", "at once", "blocked", "failed", "server busy",
            "generator busy", "runs", "verdict",
        ),
        rows=rows,
    )  # fmt: skip


_WORST = ("kept up", "overloaded", "generator late", "invalid")


def _row(
    fraction: float, points: Sequence[LoadPoint], rules: OpenLoopRules
) -> tuple[TableCell, ...]:
    times, _ = time_estimates(points, RESPONSE)
    users = user_estimates(points, rules.is_steady)
    bounds = {*censored(points), *(() if rules.is_steady else users)}
    response: dict[str, TableCell] = {
        name: Marked("at least", found) if name in bounds else found
        for name, found in (times | users).items()
    }
    shares = (USERS_GAVE_UP, USERS_ANSWERED) if rules.patience_ms is not None else ()
    service, _ = time_estimates(points, SERVICE)
    busy = [p.server_busy for p in points if p.server_busy is not None]
    arrivals = sum(point.arrivals for point in points)
    worst = max(points, key=lambda point: _WORST.index(point.verdict)).verdict
    return (
        percent_of_maximum(fraction),
        round(sum(p.offered for p in points) / len(points)),
        estimate([p.completed for p in points], PER_SECOND),
        *(response.get(statistic(RESPONSE, name)) for name in ("mean", "p50", "p90", "p99")),
        *(response.get(name) for name in shares),
        *(service.get(statistic(SERVICE, name)) for name in ("p50", "p99")),
        estimate([p.concurrency for p in points], ""),
        percent(sum(p.blocked for p in points) / arrivals) if arrivals else None,
        percent(sum(p.failures for p in points) / len(points)),
        estimate(busy, SHARE) if busy else None,
        estimate([p.client_busy for p in points], SHARE),
        len(points),
        worst,
    )


def _bound_words(remedy: Remedy) -> str:
    """The kinds of bounds that the generator's limit makes of the rates and of the ratio."""
    rates = "rates: at least" if remedy.bound else ""
    ratio = f"ratio: {remedy.of_ratio}" if remedy.of_ratio else ""
    return "; ".join(filter(None, (rates, ratio)))


def _remedies(cell: CapacityCell, number: int) -> DataTable:
    rows = tuple(
        (r.name, r.connections_per_s, r.requests_per_s, r.cost_us, r.ratio,
         Marked(r.of_plain, r.over_plain) if r.over_plain and r.of_plain != "unknown" else None,
         _bound_words(r))
        for r in cell.remedies
    )  # fmt: skip
    return DataTable(
        id=f"remedies-{number}",
        title=f"What the remedies bring: {cell.name}",
        caption=(
            "Closed loops at the concurrency of the maximum. The ratio is of requests/s, to the "
            "first line of its sort, paired by repetition. 'At least': the generator was the limit."
        ),
        columns=(
            "remedy",
            "connections/s",
            "requests/s",
            "server µs/request",
            "times",
            "times a server without tickets",
            "",
        ),
        rows=rows,
    )


def _validation(cells: Sequence[CapacityCell]) -> DataTable:
    return DataTable(
        id="validation",
        title="Own times against a packet capture",
        caption=(
            "The same connections, seen by the generator and by tcpdump. A time is too "
            "short to judge where 1 % of it is less than this machine's resolution of an instant."
        ),
        columns=("server", "connections/s", "n", "time", "quantile", "own ms", "capture ms",
                 "ratio", "agrees"),
        rows=tuple(_validated(cells)),
    )  # fmt: skip


def _validated(cells: Sequence[CapacityCell]) -> Iterator[tuple[TableCell, ...]]:
    for cell in cells:
        for trial in cell.trials:
            if trial.validation is None:
                continue
            for phase in trial.validation.phases:
                for comparison in phase.comparisons:
                    yield (
                        cell.name,
                        round(trial.validation.achieved),
                        phase.n,
                        _PHASES.get(phase.phase, phase.phase),
                        "median" if comparison.quantile == 0.5 else "p99",
                        comparison.tool_ms,
                        comparison.capture_ms,
                        f"{comparison.ratio:.4f}",
                        judged_words(comparison, trial.validation),
                    )
