"""Two runs of the same kind, one over the other: figures overlaid, ratios of shared cells. Pure.

The runs are independent: no block of one belongs to a block of the other. The interval of a ratio
is put together from the intervals of both sides (MOVER: Zou and Donner 2008, "Construction of
confidence limits about effect measures"), on logarithms. Its p-value is Welch's
(stats.estimate.spread_of_ratio).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tlslab.analysis.compare import EQUIVALENCE, judged_together, may_differ
from tlslab.analysis.measures import RATES, RATIO
from tlslab.analysis.overlay_answer import answer
from tlslab.analysis.run_facts import run_facts
from tlslab.analysis.server_side import comparable
from tlslab.analysis.stats.estimate import spread_of_ratio
from tlslab.model.errors import UsageError
from tlslab.model.estimate import Estimate
from tlslab.model.estimates import MICRO, estimate_name, shown
from tlslab.model.figure import DataTable, Figure, Mark, Series, TableCell
from tlslab.model.finding import (
    CellSummary,
    Comparison,
    ExperimentSummary,
    Finding,
    Summary,
)
from tlslab.model.run import Environment
from tlslab.model.wording import cell_label, counted, difference

KIND = "comparison"

METHOD = "independent runs; MOVER on the logarithms of both intervals, 95 %"

WARNING = (
    "Absolute rates across machines are what they are: processor, kernel and libraries are in "
    "them. Ratios say what these two runs differ by, not why."
)

# What is put side by side where both runs have it, and as a figure for runs without any.
_SHOWN = (
    "connections_per_s",
    "requests_per_s",
    "capacity_connections_per_s",
    "server_cpu_us_per_connection",
    "client_cpu_us_per_connection",
    "server_memory_bytes",
)

# What figures show of runs without any.
_DRAWN = (
    "connections_per_s",
    "server_cpu_us_per_connection",
    "client_cpu_us_per_connection",
)

# Figures of one run alone: laid over each other they would show nothing.
_ALONE = ("over-time-", "cpu-time-", "setting-")


@dataclass(frozen=True)
class Side:
    """A run with the name that it has in the comparison."""

    name: str
    summary: Summary


@dataclass(frozen=True)
class Pair:
    """A cell of the first run, and its like in the second one."""

    label: str
    first: CellSummary
    second: CellSummary


def overlay(first: Side, second: Side, margin: float = EQUIVALENCE) -> Summary:
    """The comparison as a summary; its ratios are second over first.

    Ratios whose interval lies within `margin` of 1 are called equivalent.

    Raises UsageError for runs of different kinds, and for runs that share no cell.
    """
    kinds = (first.summary.experiment.kind, second.summary.experiment.kind)
    if kinds[0] != kinds[1]:
        raise UsageError(f"{first.name} is of the kind {kinds[0]}, {second.name} of {kinds[1]}")
    pairs = shared_cells(first.summary, second.summary)
    if not pairs:
        raise UsageError(
            f"{first.name} and {second.name} share no cell",
            "compare runs of the same experiment, with the same levels",
        )
    found = [each for pair in pairs for each in _ratios(first.summary, second.summary, pair)]
    judged = judged_together([comparison for _, _, comparison in found], margin)
    ratios = [
        (pair, name, comparison) for (pair, name, _), comparison in zip(found, judged, strict=True)
    ]
    drawn = tuple(_figures(first, second, pairs))
    return Summary(
        experiment=_experiment(first, second),
        environment=_environment(first, second),
        cells=(),
        excluded=(),
        comparisons=(
            *(comparison for _, _, comparison in ratios),
            *missing(first.summary, second.summary, pairs),
        ),
        findings=tuple(_findings(first, second, pairs)),
        figures=drawn,
        tables=tuple(
            table
            for table in (_ratio_table(first, second, ratios), _differences(first, second))
            if table.rows
        ),
        method=(f"Intervals of ratios: {METHOD}.",),
        answer=answer(
            (first.name, second.name),
            [(pair.label, comparison) for pair, _, comparison in ratios],
            drawn[0].id if drawn else "",
            first.summary.environment.command,
        ),
    )


def shared_cells(first: Summary, second: Summary) -> list[Pair]:
    """Cells with equal levels; a factor in which each run has one level only may differ.

    So two runs of one server each are compared as two platforms.
    """
    alone = {
        name
        for name in {*first.experiment.factors, *second.experiment.factors}
        if all(len(_levels(summary, name)) <= 1 for summary in (first, second))
    }

    def key(cell: CellSummary) -> frozenset[tuple[str, str]]:
        return frozenset((n, level) for n, level in cell.factors.items() if n not in alone)

    others = {key(cell): cell for cell in second.cells}
    pairs = []
    for cell in first.cells:
        other = others.get(key(cell))
        if other is not None:
            label = cell_label({n: v for n, v in cell.factors.items() if n not in alone})
            pairs.append(Pair(label, cell, other))
    return pairs


def _levels(summary: Summary, factor: str) -> set[str]:
    return {cell.factors[factor] for cell in summary.cells if factor in cell.factors}


Ratio = tuple[Pair, str, Comparison]


def _ratios(first: Summary, second: Summary, pair: Pair) -> Iterator[Ratio]:
    names = [name for name in pair.first.estimates if name in pair.second.estimates]
    for name in sorted(names, key=_rank):
        reported = name in _SHOWN or name.startswith(("response_ms_p50_at", "response_ms_p99_at"))
        one, other = pair.first.estimates[name], pair.second.estimates[name]
        if _same(pair, name):
            continue
        if reported and one.value > 0 and other.value > 0:
            ratio = _compare(pair, name, one, other)
            if not comparable(first, second, name):
                ratio = replace(ratio, verdict="not_comparable")
            yield pair, name, ratio


def _same(pair: Pair, name: str) -> bool:
    """Whether a rate says what that of connections says: each had one request."""
    if name != "requests_per_s":
        return False
    cells = (pair.first.estimates, pair.second.estimates)
    rates = [each.get("connections_per_s") for each in cells]
    return all(
        rate is not None and rate.value == each[name].value
        for rate, each in zip(rates, cells, strict=True)
    )


def _rank(name: str) -> int:
    return _SHOWN.index(name) if name in _SHOWN else len(_SHOWN)


def missing(first: Summary, second: Summary, pairs: Sequence[Pair]) -> Iterator[Comparison]:
    """What one run alone has a value of, or neither though not both say `unsupported`.

    Without a ratio, so that neither a gate nor a reader takes the cell for one that did not change.
    Of a cell in one run only, and of one without any value, the rate that the runs are judged by.
    """
    rate = _rate(first, second)
    for pair in pairs:
        if pair.first.verdict == pair.second.verdict == "unsupported":
            continue
        for name in _SHOWN:
            has = [_has(cell, name) for cell in (pair.first, pair.second)]
            if not all(has) and (any(has) or name == rate):
                yield _missing(pair.first, pair.second, name)
    paired = {id(cell) for pair in pairs for cell in (pair.first, pair.second)}
    for cell in first.cells:
        if id(cell) not in paired and _has(cell, rate):
            yield _missing(cell, None, rate)
    for cell in second.cells:
        if id(cell) not in paired and _has(cell, rate):
            yield _missing(None, cell, rate)


def _rate(first: Summary, second: Summary) -> str:
    """The rate of the runs' kind, by which a gate judges them."""
    found = {name for run in (first, second) for cell in run.cells for name in cell.estimates}
    return next((name for name in RATES if name in found), RATES[1])


def _has(cell: CellSummary, name: str) -> bool:
    return name in cell.estimates and cell.estimates[name].value > 0


def _missing(first: CellSummary | None, second: CellSummary | None, name: str) -> Comparison:
    reasons = [
        f"the {side} run has no {'such cell' if cell is None else f'value ({cell.verdict})'}"
        for side, cell in (("first", first), ("second", second))
        if cell is None or not _has(cell, name)
    ]
    return Comparison(
        baseline="" if first is None else first.key,
        candidate="" if second is None else second.key,
        estimate=name,
        ratio=0.0,
        low=None,
        high=None,
        n=0,
        method=" and ".join(reasons),
        verdict="cannot_tell",
    )


def _compare(pair: Pair, name: str, first: Estimate, second: Estimate) -> Comparison:
    usable = all(c.verdict in ("valid", "at_least") for c in (pair.first, pair.second))
    bounded = any(
        (name.endswith("_per_s") and cell.verdict == "at_least")
        or name in (*cell.lower_bounds, *cell.unsaturated)
        for cell in (pair.first, pair.second)
    )
    found = independent(name, first, second)
    return replace(
        found,
        baseline=pair.first.key,
        candidate=pair.second.key,
        verdict="cannot_tell" if usable and not bounded else "not_comparable",
    )


def independent(name: str, first: Estimate, second: Estimate) -> Comparison:
    """Second over first, two estimates of which neither knows the other; without a verdict yet."""
    ratio = ratio_estimate(second, first)
    spread = spread_of_ratio(first, second)
    return Comparison(
        baseline="",
        candidate="",
        estimate=name,
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        n=ratio.n,
        method=METHOD,
        verdict="cannot_tell",
        p=None if spread is None else spread.p_value(math.log(ratio.value)),
        may_differ=may_differ(ratio.low, ratio.high),
        error=None if spread is None else spread.error,
        degrees=None if spread is None else spread.degrees,
    )


def ratio_estimate(above: Estimate, below: Estimate) -> Estimate:
    """The ratio of two independent estimates; without an interval if one of them has none."""
    value = above.value / below.value
    n = min(above.n, below.n)
    ends = (above.low, above.high, below.low, below.high)
    if any(end is None or end <= 0 for end in ends):
        return Estimate(value, None, None, n, RATIO, "no interval: a side has none")
    x, x_low, x_high = (math.log(v) for v in (above.value, above.low or 1, above.high or 1))
    y, y_low, y_high = (math.log(v) for v in (below.value, below.low or 1, below.high or 1))
    low = x - y - math.hypot(x - x_low, y_high - y)
    high = x - y + math.hypot(x_high - x, y - y_low)
    return Estimate(value, math.exp(low), math.exp(high), n, RATIO, METHOD)


def _ratio_table(first: Side, second: Side, ratios: Sequence[Ratio]) -> DataTable:
    rows: list[tuple[TableCell, ...]] = []
    for pair, name, comparison in ratios:
        ratio = Estimate(
            comparison.ratio,
            comparison.low,
            comparison.high,
            comparison.n,
            RATIO,
            comparison.method,
        )
        rows.append(
            (
                pair.label,
                _measure(name, pair.first.estimates[name]),
                _as_shown(pair.first.estimates[name]),
                _as_shown(pair.second.estimates[name]),
                ratio,
                verdict_words(comparison),
            )
        )
    return DataTable(
        id="ratios",
        title=f"{second.name} over {first.name}",
        caption="",
        columns=("cell", "measure", first.name, second.name, "ratio", "verdict"),
        rows=tuple(rows),
    )


def _measure(name: str, found: Estimate) -> str:
    """An estimate in words, with the unit that it is shown in."""
    unit = shown(found).unit
    return estimate_name(name) + (f", {unit}" if unit not in ("/s", "") else "")


def _as_shown(found: Estimate) -> Estimate:
    given = shown(found)
    return replace(found, value=given.value, low=given.low, high=given.high, unit=given.unit)


def verdict_words(comparison: Comparison) -> str:
    """The verdict, with the largest difference that is left open where there is none."""
    left = comparison.may_differ
    if comparison.verdict == "equivalent" and left is not None:
        return f"differ by at most {difference(left)}"
    if comparison.verdict == "cannot_tell" and left is not None:
        return f"cannot tell (up to {difference(left)})"
    return comparison.verdict.replace("_", " ")


def _differences(first: Side, second: Side) -> DataTable:
    """What the two runs do not have in common, as far as their folders know."""
    sides = [run_facts(side.summary) for side in (first, second)]
    names = list(dict.fromkeys([*sides[0], *sides[1]]))
    rows = [(name, sides[0].get(name, "-"), sides[1].get(name, "-")) for name in names]
    return DataTable(
        id="differences",
        title="What else differs",
        caption="Facts that the two folders hold and that are not the same.",
        columns=("fact", first.name, second.name),
        rows=tuple(row for row in rows if row[1] != row[2]),
    )


def _figures(first: Side, second: Side, pairs: Sequence[Pair]) -> Iterator[Figure]:
    others = {figure.id: figure for figure in second.summary.figures}
    alone = [
        {_server_part(figure.id) for figure in side.summary.figures} for side in (first, second)
    ]
    for mine in first.summary.figures:
        other = others.get(mine.id) or _like(mine, second.summary.figures, alone)
        if other is not None and not mine.id.startswith(_ALONE) and mine.kind == other.kind:
            yield _laid_over(first.name, mine, second.name, other)
    if all(figure.id.startswith("setting-") for figure in first.summary.figures):
        yield from _bars(first, second, pairs)


def _server_part(name: str) -> str:
    return name.partition("-")[0]


def _like(mine: Figure, others: Sequence[Figure], alone: Sequence[set[str]]) -> Figure | None:
    """The other run's figure of the same sort, where each run has one of that sort only."""
    sort = _server_part(mine.id)
    found = [figure for figure in others if _server_part(figure.id) == sort]
    return found[0] if len(found) == 1 and all(sort in each for each in alone) else None


def _laid_over(name: str, mine: Figure, other_name: str, other: Figure) -> Figure:
    def named(side: str, figure: Figure) -> tuple[Series, ...]:
        return tuple(replace(series, name=f"{side}: {series.name}") for series in figure.series)

    def marked(side: str, figure: Figure) -> tuple[Mark, ...]:
        return tuple(replace(mark, label=f"{side}: {mark.label}") for mark in figure.marks)

    return replace(
        mine,
        series=(*named(name, mine), *named(other_name, other)),
        marks=(*marked(name, mine), *marked(other_name, other)),
    )


def _bars(first: Side, second: Side, pairs: Sequence[Pair]) -> Iterator[Figure]:
    """One figure for each estimate that all runs have: bars side by side."""
    for name in _DRAWN:
        title = estimate_name(name)
        title = title[:1].upper() + title[1:] + (f", {MICRO}" if "_us_" in name else "")
        able = [p for p in pairs if name in p.first.estimates and name in p.second.estimates]
        if able:
            series = (
                _side(first.name, able, [p.first.estimates[name] for p in able]),
                _side(second.name, able, [p.second.estimates[name] for p in able]),
            )
            yield Figure(
                id=name.replace("_", "-"),
                title=title,
                caption="",
                kind="bars",
                x_title="",
                y_title=title,
                series=series,
            )


def _side(name: str, pairs: Sequence[Pair], values: Sequence[Estimate]) -> Series:
    return Series(
        name=name,
        x=tuple(pair.label for pair in pairs),
        y=tuple(value.value for value in values),
        low=tuple(value.low for value in values),
        high=tuple(value.high for value in values),
    )


def _findings(first: Side, second: Side, pairs: Sequence[Pair]) -> Iterator[Finding]:
    missing = len(first.summary.cells) + len(second.summary.cells) - 2 * len(pairs)
    if missing:
        verb = "is" if missing == 1 else "are"
        text = f"{counted(missing, 'cell')} {verb} in one of the runs only, and {verb} left out."
        yield Finding("left_out", text)


def _experiment(first: Side, second: Side) -> ExperimentSummary:
    mine = first.summary.experiment
    return replace(
        mine,
        name="compare",
        title=f"{first.name} and {second.name}: {mine.title}",
        target=f"{mine.target}, {second.summary.experiment.target}",
        kind=KIND,
    )


def _environment(first: Side, second: Side) -> Environment:
    """The first run's, with what must be known of both."""
    warnings = [
        f"{side.name}: {warning}"
        for side in (first, second)
        for warning in side.summary.environment.warnings
    ]
    return replace(first.summary.environment, warnings=(WARNING, *warnings))
