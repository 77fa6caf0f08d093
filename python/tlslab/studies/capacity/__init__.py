"""The study of 2001: the capacity of Apache with mod_ssl, on UltraSPARC-II and Itanium.

Its figures stand beside ours as ratios. It left open what session resumption and persistent
connections bring, which the experiment measures as remedies.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from tlslab.analysis.capacity.bend import BEND, bends
from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.growth import growths
from tlslab.analysis.capacity.points import by_fraction, judged
from tlslab.analysis.capacity.ratios import flag, over, scaling_pairs
from tlslab.analysis.capacity.summary import measured_cells
from tlslab.domain.capacity import plan_of
from tlslab.domain.cell_names import cell_names
from tlslab.domain.estimates import CONNECTIONS, RESPONSE, at_load, estimate_name, quantile
from tlslab.domain.experiment import CAPACITY as KIND
from tlslab.domain.figure import DataTable, Marked, TableCell
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.domain.trial import Trial
from tlslab.domain.validation import JUDGEMENT_WORDS
from tlslab.domain.wording import percent
from tlslab.studies.study import Additions, Figures, Study, source

Row = tuple[TableCell, ...]


def adds(contents: RunContents, summary: Summary, figures: Figures) -> Additions:
    """The study's results and ours, both as ratios."""
    cells = measured_cells(contents, plan_of(contents.experiment))
    rows = (
        *_flatness(cells, figures),
        *_scaling(cells),
        *_growth(cells),
        *_climb(cells, figures),
        *_bend(cells, figures),
        *_validation(cells, figures),
    )
    table = DataTable(
        id="published",
        title=f"Beside the study of {figures['date']}",
        caption=f"{source(figures)}. Ratios, because absolute rates mean nothing across machines.",
        columns=("figure", "published", "here", "n, method"),
        rows=rows,
    )
    return Additions(tables=(table,) if rows else ())


def beside(comparison: Summary, first: Summary, figures: Figures) -> tuple[DataTable, ...]:
    """The ratios of the study's two platforms beside those of two runs, second over first."""
    names = dict(zip([c.key for c in first.cells], _labels(first), strict=True))
    found = figures["findings"]
    rate, clock = found["platforms_rate_ratio"], found["platforms_clock_ratio"]
    published = {
        CONNECTIONS: f"over {rate:g}, with {clock:g} times the clock",
        **{
            at_load(quantile(RESPONSE, p), 1.0): f"about {found['platforms_latency_ratio']:.2f}"
            for p in (50, 99)
        },
    }
    rows = tuple(
        (
            f"{estimate_name(each.estimate)}: {names.get(each.baseline, each.baseline)}",
            published[each.estimate],
            each.as_estimate,
            each.method,
        )
        for each in comparison.comparisons
        if each.estimate in published and each.n
    )
    table = DataTable(
        id="published",
        title=f"Beside the two platforms of {figures['date']}",
        caption=f"Itanium over UltraSPARC-II, and these two runs. {source(figures)}.",
        columns=("figure", "published", "here", "method"),
        rows=rows,
    )
    return (table,) if rows else ()


def _labels(summary: Summary) -> list[str]:
    return cell_names([cell.factors for cell in summary.cells])


CAPACITY = Study("capacity", "coradiant-2001", KIND, adds, beside=beside)


def _named(cells: Sequence[CapacityCell]) -> Iterator[tuple[str, CapacityCell]]:
    yield from zip(cell_names([cell.factors for cell in cells]), cells, strict=True)


def _flatness(cells: Sequence[CapacityCell], study: Figures) -> Iterator[Row]:
    """The flatness of the search's peak: the levels next to the best one, over the best."""
    rates = [row["connections_per_s"] for row in study["pre_test"]]
    shares = [rate / max(rates) for rate in rates if rate < max(rates)]
    text = " and ".join(f"{share:.3f}" for share in shares)
    for name, cell in _named(cells):
        levels = cell.levels
        best = max(levels, key=lambda level: level.rate, default=None)
        if best is None or best.rate <= 0:
            continue
        at = levels.index(best)
        beside = [levels[i].rate / best.rate for i in (at - 1, at + 1) if 0 <= i < len(levels)]
        here = " and ".join(f"{share:.3f}" for share in beside) or None
        yield (f"search, levels beside the best, over it: {name}", text, here, "one run each")


def _scaling(cells: Sequence[CapacityCell]) -> Iterator[Row]:
    for fewer, more in scaling_pairs(cells):
        n, m = int(fewer.factors["processors"]), int(more.factors["processors"])
        paired = over(more, fewer)
        if paired is None:
            continue
        ratio = paired.comparison
        name = cell_names([more.factors, fewer.factors])[0]
        yield (
            f"connections/s with {m} processors over {n}: {more.factors.get('server', name)}",
            f"{m / n:.2f} (linear)",
            Marked(flag(paired), ratio.as_estimate),
            f"n = {ratio.n}; {ratio.method}",
        )


def _growth(cells: Sequence[CapacityCell]) -> Iterator[Row]:
    for each in growths(cells):
        n, m = (cell.factors["processors"] for cell in (each.fewer, each.more))
        server = each.more.factors.get("server", each.more.name)
        yield (
            f"server's time for a connection with {m} processors over {n}: {server}",
            "1 (linear)",
            each.ratio,
            f"n = {each.ratio.n}; {each.ratio.method}",
        )


def _bend(cells: Sequence[CapacityCell], study: Figures) -> Iterator[Row]:
    """The loads between which the mean response time exceeds BEND times that at the lowest."""
    rows, most = study["validation"], max(row["connections_per_s"] for row in study["pre_test"])
    past = next(n for n, r in enumerate(rows) if r["client_ms"] > BEND * rows[0]["client_ms"])
    ends = [percent(rows[n]["connections_per_s"] / most) for n in (past - 1, past)]
    for name, cell in _named(cells):
        for found in (bend for bend in bends(cell.points) if bend.of == "mean"):
            ends_at = "no load that was measured" if found.onward is None else percent(found.onward)
            yield (
                f"mean response time above {BEND:g} times that at the lowest rate, from: {name}",
                f"between {ends[0]} and {ends[1]} of the maximum",
                f"between {percent(found.before)} and {ends_at}",
                "two fixed orders, each at 97.5 %",
            )


def _climb(cells: Sequence[CapacityCell], study: Figures) -> Iterator[Row]:
    """The increase of the mean response time at k times the lowest rate."""
    rows = study["validation"]
    base = rows[0]
    for name, cell in _named(cells):
        groups = by_fraction([p for p in judged(cell.points) if p.kept and p.response.n])
        if not groups:
            continue
        least = min(groups)
        first = _mean(groups[least])
        for row in rows[1:]:
            times = row["connections_per_s"] / base["connections_per_s"]
            group = next((g for f, g in groups.items() if abs(f / least - times) < 0.01), None)
            if group is None:
                continue
            yield (
                f"mean response time at {times:g} times the lowest rate, over that at it: {name}",
                f"{row['client_ms'] / base['client_ms']:.2f}",
                f"{_mean(group) / first:.2f}",
                f"n = {len(group)} runs",
            )


def _mean(points: Sequence[Any]) -> float:
    return float(sum(point.response.mean() for point in points) / len(points))


def _validation(cells: Sequence[CapacityCell], study: Figures) -> Iterator[Row]:
    worst = max(abs(row["client_ms"] / row["capture_ms"] - 1) for row in study["validation"])
    for _, cell in _named(cells):
        for trial in _validated(cell):
            assert trial.validation is not None
            for phase in trial.validation.phases:
                if phase.phase != "close":
                    continue
                for comparison in phase.comparisons:
                    if comparison.quantile == 0.5:
                        judged = comparison.judged(trial.validation.resolution)
                        yield (
                            f"own times over a capture's, {trial.validation.achieved:,.0f}/s",
                            f"within {worst:.1%}".replace("%", " %"),
                            f"{comparison.ratio:.4f}",
                            f"median of {phase.n:,} connections; {JUDGEMENT_WORDS[judged]}",
                        )


def _validated(cell: CapacityCell) -> list[Trial]:
    return [
        trial for trial in cell.trials if trial.validation is not None and trial.validation.valid
    ]
