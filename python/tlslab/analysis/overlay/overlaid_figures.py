"""Overlaid figures of two runs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tlslab.analysis.overlay.pairs import Pair, Side
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import CLIENT_COST, CONNECTIONS, SERVER_COST, axis_title
from tlslab.domain.figure import Figure, Mark, Series
from tlslab.domain.wording import capital

# Estimates drawn for runs that have no figures to overlay.
_DRAWN = (CONNECTIONS, SERVER_COST, CLIENT_COST)

# Figures that concern one run alone and are not overlaid.
_ALONE = ("over-time-", "cpu-time-", "setting-")


def laid_over(first: Side, second: Side, pairs: Sequence[Pair]) -> Iterator[Figure]:
    """Figures that both runs have, with the series of both; bars if there are none."""
    others = {figure.id: figure for figure in second.summary.figures}
    alone = [
        {_server_part(figure.id) for figure in side.summary.figures} for side in (first, second)
    ]
    for mine in first.summary.figures:
        other = others.get(mine.id) or _like(mine, second.summary.figures, alone)
        if other is not None and not mine.id.startswith(_ALONE) and mine.kind == other.kind:
            yield _both(first.name, mine, second.name, other)
    if all(figure.id.startswith("setting-") for figure in first.summary.figures):
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
