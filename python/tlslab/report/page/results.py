"""The cells of a ranked run as tables: the best first within each setting, with all figures."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tlslab.domain.estimates import CONNECTION_TIMES, Quantity, columns, quantile, quantity
from tlslab.domain.finding import Comparison, Summary
from tlslab.domain.wording import level_label
from tlslab.report import view
from tlslab.report.names import factor_words, long_names, short
from tlslab.report.table import Cell, Column, Row, Table, estimate_cell, exact, unit_beside

# The name of the ratio to the baseline by the table's first estimate.
_RATIO = "ratio"


@dataclass(frozen=True)
class _Head:
    """An estimate as a column; `scale` converts it to the unit of display.

    `hidden`: the column appears only on a click on the row, whatever the room.
    """

    name: str
    head: str
    unit: str = ""
    scale: float = 1.0
    hidden: bool = False


def _heads(rows: Iterable[Quantity]) -> list[_Head]:
    """The columns of estimates, in their units of display."""
    heads = []
    for row in rows:
        unit, scale = row.column
        unit = unit if row.mega else unit_beside(row.head, [row.unit])
        heads.append(_Head(row.name, row.head, unit, scale, row.hidden))
    return heads


def _with_ratio(keep_alive: bool) -> list[_Head]:
    """The columns of cells: the leading estimate, its ratio to the baseline, the others."""
    first, *others = _heads(columns(keep_alive))
    return [first, _Head(_RATIO, "ratio"), *others]


_NEW, _KEPT_OPEN = _with_ratio(keep_alive=False), _with_ratio(keep_alive=True)
_TIMES = _heads(quantity(quantile(time, p)) for p in (50, 99, 90, 95) for time in CONNECTION_TIMES)

# The ids of this module's tables: all of them show cells.
OF_CELLS = ("results", "kept-open", "times")
RESULTS, _OPEN, _OF_TIMES = OF_CELLS

_Pair = tuple[view.Section, view.Row]


def results(summary: Summary, sections: Sequence[view.Section]) -> Table | None:
    """New connections: rates, ratios and costs of all cells; None if nothing is ranked."""
    rows = [(section, row) for section in sections for row in section.rows]
    return _Results(summary, rows, _NEW).table(RESULTS, "Results") if rows else None


def kept_open(summary: Summary, sections: Sequence[view.Section]) -> Table | None:
    """Requests on connections kept open; None if they were not measured."""
    rows = [(section, row) for section in sections for row in section.kept_open]
    if not rows:
        return None
    at_once = summary.experiment.workload["keep_alive"]["connections"]
    table = _Results(summary, rows, _KEPT_OPEN).table(
        _OPEN, f"Connections kept open: {at_once} at once"
    )
    return replace(table, caption="As many requests as the connections can carry.")


def times(summary: Summary, sections: Sequence[view.Section]) -> Table | None:
    """The quantiles of all times; None without any."""
    rows = [(section, row) for section in sections for row in section.measured]
    if not any(head.name in row.cell.estimates for head in _TIMES for _, row in rows):
        return None
    table = _Results(summary, rows, _TIMES).table(_OF_TIMES, "Times")
    connections = summary.experiment.workload.get("connections", "")
    caption = (
        f"Service time, from the actual start of each connection; {connections} connections are "
        "always in flight, so times grow as the rate falls."
    )
    return replace(table, caption=caption)


def objections_of(summary: Summary) -> dict[str, str]:
    """The objections of policies to settings, by their short names in the rankings."""
    return {
        short(str(point.x)): point.objection
        for figure in summary.figures
        if figure.kind == "ranking"
        for series in figure.series
        for point in series.points
        if point.objection
    }


class _Results:
    """Rows of several settings as one table with the columns that any of them needs."""

    def __init__(self, summary: Summary, rows: Sequence[_Pair], heads: Sequence[_Head]) -> None:
        self._summary = summary
        self._rows = rows
        self._heads = [head for head in heads if self._needs(head)]
        self._first = heads[0].name
        self._objections = objections_of(summary)
        self._many = len({section.id for section, _ in rows}) > 1
        factors = dict.fromkeys(name for _, row in rows for name in row.cell.factors)
        self._varied = [
            name for name in factors if len({row.cell.factors.get(name) for _, row in rows}) > 1
        ]

    def table(self, id_: str, title: str) -> Table:
        """The table, its rows in the order of their sections."""
        rows = tuple(self._row(section, row) for section, row in self._rows)
        return Table(id_, title, tuple(self._columns()), rows)

    def _needs(self, head: _Head) -> bool:
        if head.name == _RATIO:
            return any(row.ratio for _, row in self._rows)
        return any(head.name in row.cell.estimates for _, row in self._rows)

    def _columns(self) -> Iterator[Column]:
        yield Column("", "cell")
        for head in self._heads:
            methods = {
                row.cell.estimates[head.name].method
                for _, row in self._rows
                if head.name in row.cell.estimates
            }
            hint = methods.pop() if len(methods) == 1 else ""
            yield Column(
                head.head,
                head.name,
                head.unit,
                number=True,
                spread=True,
                hint=hint,
                hidden=head.hidden,
            )
        yield Column("rank", "rank", hint="the ranks that the trials leave open")
        for name in self._varied:
            yield Column(factor_words(name), name, factor=True, hidden=True)
        yield Column("verdict", "verdict", hidden=True)

    def _row(self, section: view.Section, row: view.Row) -> Row:
        comparison = view.find_comparison(self._summary, row.cell.key, self._first)
        objection = self._objections.get(short(row.name), "")
        why = "" if row.cell.estimates else "; ".join(note.message for note in row.cell.reasons)
        cells = [
            self._name(section, row),
            *(self._figure(row, head, comparison) for head in self._heads),
            Cell(row.rank),
            *(self._level(row, name) for name in self._varied),
            Cell(row.verdict),
        ]
        state = " ".join(filter(None, (row.cell.verdict, "first" if row.leads else "")))
        differs = None if comparison is None else comparison.differs
        return Row(tuple(cells), state, objection, differs, row.cell.key, why)

    def _name(self, section: view.Section, row: view.Row) -> Cell:
        extra = (short(section.label),) if self._many else ()
        iana = long_names(" ".join(row.cell.factors.values()))
        badge = row.verdict if row.cell.verdict != "valid" else ""
        return Cell(short(row.name), extra=extra, raw=row.cell.key, hint=iana, badge=badge)

    def _level(self, row: view.Row, name: str) -> Cell:
        level = row.cell.factors.get(name, "")
        return Cell(short(level_label(name, level)) if level else "", raw=level)

    def _figure(self, row: view.Row, head: _Head, comparison: Comparison | None) -> Cell:
        if head.name == _RATIO:
            return _ratio(row, comparison)
        estimate = row.cell.estimates.get(head.name)
        if estimate is None:
            return Cell(hint=row.cell.not_measurable.get(head.name, ""))
        return estimate_cell(estimate, row.cell.is_bound(head.name), head.scale)


def _ratio(row: view.Row, comparison: Comparison | None) -> Cell:
    if row.is_baseline:
        return Cell("baseline")
    if row.ratio is None or comparison is None:
        return Cell()
    return Cell(
        row.ratio.text,
        row.ratio.interval,
        (row.undecided,) if row.undecided else (),
        exact(comparison.ratio, comparison.low, comparison.high, comparison.n),
        hint=row.ratio.method,
    )
