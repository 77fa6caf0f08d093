"""Tables and figures of a comparison: the ratios, other differences, both runs overlaid."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tlslab.analysis.compare import is_equal_amount
from tlslab.analysis.overlay.ratios import ONE_AFTER_THE_OTHER, Pair, Ratio, Side
from tlslab.analysis.run_facts import run_facts
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CLIENT_COST,
    CONNECTIONS,
    SERVER_COST,
    axis_title,
    estimate_name,
    shown,
)
from tlslab.domain.figure import DataTable, Figure, Mark, Series, TableCell
from tlslab.domain.finding import Comparison
from tlslab.domain.setting import LEADING
from tlslab.domain.wording import capital, difference

# Estimates drawn for runs that have no figures to overlay.
_DRAWN = (CONNECTIONS, SERVER_COST, CLIENT_COST)

# Figures that concern one run alone and are not overlaid.
_ALONE = ("over-time-", "cpu-time-", LEADING)


def laid_over(first: Side, second: Side, pairs: Sequence[Pair]) -> Iterator[Figure]:
    """Figures that both runs have, with the series of both; bars if there are none."""
    others = {figure.id: figure for figure in second.summary.figures}
    alone = [
        {_server_part(figure.id) for figure in side.summary.figures} for side in (first, second)
    ]
    for mine in first.summary.figures:
        other = others.get(mine.id) or _like(mine, second.summary.figures, alone)
        if other is None or mine.of_setting or mine.id.startswith(_ALONE):
            continue
        if mine.kind == other.kind:
            yield _both(first.name, mine, second.name, other)
    if all(f.of_setting or f.id.startswith(LEADING) for f in first.summary.figures):
        yield from _bars(first, second, pairs)


def _server_part(name: str) -> str:
    return name.partition("-")[0]


def _like(mine: Figure, others: Sequence[Figure], alone: Sequence[set[str]]) -> Figure | None:
    """The other run's figure of the same sort, if each run has exactly one of that sort."""
    sort = _server_part(mine.id)
    found = [figure for figure in others if _server_part(figure.id) == sort]
    return found[0] if len(found) == 1 and all(sort in each for each in alone) else None


def _both(name: str, mine: Figure, other_name: str, other: Figure) -> Figure:
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
        title = capital(axis_title(name))
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


def ratio_table(first: Side, second: Side, ratios: Sequence[Ratio]) -> DataTable:
    """A row for each ratio, with both values and the verdict; none for amounts that are equal."""
    rows: list[tuple[TableCell, ...]] = []
    for pair, name, comparison in ratios:
        if is_equal_amount(comparison):
            continue
        rows.append(
            (
                pair.label,
                _measure(name, pair.first.estimates[name]),
                _as_shown(pair.first.estimates[name]),
                _as_shown(pair.second.estimates[name]),
                comparison.as_estimate,
                verdict_words(comparison),
            )
        )
    return DataTable(
        id="ratios",
        title=f"{second.name} over {first.name}",
        caption="",
        columns=("cell", "measure", first.name, second.name, "ratio", "verdict"),
        rows=tuple(rows),
        brief=("cell", "measure", "ratio", "verdict"),
    )


def _measure(name: str, found: Estimate) -> str:
    """An estimate in words, with its unit of display."""
    unit = shown(found).unit
    return estimate_name(name) + (f", {unit}" if unit not in ("/s", "") else "")


def _as_shown(found: Estimate) -> Estimate:
    given = shown(found)
    return replace(found, value=given.value, low=given.low, high=given.high, unit=given.unit)


def verdict_words(comparison: Comparison) -> str:
    """The verdict; the largest difference left open, or the reason for a missing verdict."""
    left = comparison.may_differ
    if comparison.verdict == "equivalent" and left is not None:
        return f"differ by at most {difference(left)}"
    if comparison.verdict == "cannot_tell":
        why = [ONE_AFTER_THE_OTHER] if comparison.across_runs else []
        why += [] if left is None else [f"they may differ by up to {difference(left)}"]
        return ": ".join(["cannot tell", *(["; ".join(why)] if why else [])])
    if comparison.verdict == "not_comparable":
        return comparison.method
    return comparison.verdict.replace("_", " ")


def difference_table(first: Side, second: Side) -> DataTable:
    """Facts that differ between the two runs, as far as their folders record them."""
    sides = [run_facts(side.summary) for side in (first, second)]
    names = list(dict.fromkeys([*sides[0], *sides[1]]))
    rows = [(name, sides[0].get(name, "-"), sides[1].get(name, "-")) for name in names]
    return DataTable(
        id="differences",
        title="What else differs",
        caption=f"Facts that are recorded of the two {first.noun}s and that are not the same.",
        columns=("fact", first.name, second.name),
        rows=tuple(row for row in rows if row[1] != row[2]),
    )
