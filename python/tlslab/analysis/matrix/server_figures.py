"""Additions to a run over several servers: figures, tables, sentences."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tlslab.analysis.compare import Measured
from tlslab.analysis.matrix.figures import use_over_time
from tlslab.analysis.matrix.servers import (
    Leading,
    ServerPlace,
    best_servers,
    by_place,
    leading_server,
    offloaded,
    others,
    places,
    ratio,
)
from tlslab.domain.estimates import CONNECTIONS, SERVER_COST
from tlslab.domain.figure import DataTable, Figure, Series, TableCell
from tlslab.domain.finding import Finding
from tlslab.domain.wording import cell_label


@dataclass(frozen=True)
class ServersBeside:
    """The additions to a summary; `answer` is a sentence on all servers."""

    figures: tuple[Figure, ...] = ()
    tables: tuple[DataTable, ...] = ()
    findings: tuple[Finding, ...] = ()
    answer: Leading | None = None


def servers_beside(cells: Sequence[Measured]) -> ServersBeside:
    """The additions of a run over several servers, empty if all cells have the same; pure."""
    found = places(cells)
    if len(found) < 2:
        return ServersBeside()
    return ServersBeside(
        figures=(*_rates(cells, found), *_processor_use(cells, found)),
        tables=(_table(cells, found),),
        findings=(*best_servers(cells), *offloaded(cells)),
        answer=leading_server(cells),
    )


def _table(cells: Sequence[Measured], found: Sequence[ServerPlace]) -> DataTable:
    """For each setting a row for each place, with its ratio to the first place in that setting."""
    rows: list[tuple[TableCell, ...]] = []
    name = _namer(cells)
    for levels, members in by_place(cells):
        first = next(members[place] for place in found if place in members)
        for place in found:
            if (cell := members.get(place)) is not None:
                same = 1 if cell is first and len(members) > 1 else None
                row = (_estimate(cell, CONNECTIONS), same or ratio(cell, first, CONNECTIONS))
                rows.append((name(levels), place.label, *row, _estimate(cell, SERVER_COST)))
    heads = ("", "server", "connections/s", "ratio", "server µs per connection")
    caption = (
        "New connections per second, their ratio to those of the setting's first server, paired by "
        "block, and the servers' processor time for each; behind a front that of both."
    )
    return DataTable("servers", "Servers beside each other", caption, heads, tuple(rows))


def _estimate(cell: Measured, name: str) -> TableCell:
    return cell.summary.estimates.get(name)


def _rates(cells: Sequence[Measured], found: Sequence[ServerPlace]) -> tuple[Figure, ...]:
    """Bars of connections per second: settings as names, one series per place."""
    series = []
    name = _namer(cells)
    for place in found:
        bars = [
            (name(levels), cell.summary.estimates[CONNECTIONS])
            for levels, members in by_place(cells)
            if (cell := members.get(place)) and CONNECTIONS in cell.summary.estimates
        ]
        if bars:
            series.append(Series.of(place.label, bars))
    if not series:
        return ()
    return (
        Figure(
            id="servers-rate",
            title="New connections per second by server",
            caption="Whiskers: 95 % interval.",
            kind="bars",
            x_title="",
            y_title="new connections per second",
            series=tuple(series),
        ),
    )


def _processor_use(cells: Sequence[Measured], found: Sequence[ServerPlace]) -> tuple[Figure, ...]:
    """A figure for each place: the server's processor use over time, a line for each setting."""
    name = _namer(cells)
    figures = [
        use_over_time(
            f"servers-cpu-{number}",
            f"Processor use over time: {place.label}",
            "server",
            [
                (name(levels), members[place])
                for levels, members in by_place(cells)
                if place in members
            ],
        )
        for number, place in enumerate(found, start=1)
    ]
    return tuple(figure for figure in figures if figure is not None)


def _namer(cells: Sequence[Measured]) -> Callable[[Mapping[str, str]], str]:
    """A function that names settings by those of their levels that vary."""
    levels: dict[str, set[str]] = {}
    for cell in cells:
        for factor, level in others(cell).items():
            levels.setdefault(factor, set()).add(level)
    varied = {factor for factor, found in levels.items() if len(found) > 1}
    return lambda setting: cell_label(
        {name: level for name, level in setting.items() if name in varied}
    )
