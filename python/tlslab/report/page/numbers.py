"""The numbers behind a figure as a table with everything that the figure draws."""

from tlslab.domain.figure import Figure, Series
from tlslab.domain.wording import figure as figure_text
from tlslab.report.page.names import long_names, short
from tlslab.report.page.table import Cell, Column, Row, Table, exact, interval_words, place_text


def figure_table(figure: Figure) -> Table:
    """A row for each place on the axis, a column for each series.

    If a series has a place twice (a scatter of points), there is a row for each point instead.
    """
    if any(len(set(series.x)) < len(series.x) for series in figure.series):
        return _points(figure)
    places = list(dict.fromkeys(x for series in figure.series for x in series.x))
    words = any(isinstance(place, str) for place in places)
    if not words:
        places.sort(key=float)
    columns = (
        Column(figure.x_title, figure.x_title or "x", number=not words),
        *(_column(figure, series) for series in figure.series),
    )
    objections = {
        x: text
        for series in figure.series
        for x, text in zip(series.x, series.objections, strict=False)
    }
    rows = tuple(
        Row(
            (_place(place), *(_value_at(series, place) for series in figure.series)),
            objection=objections.get(place, ""),
        )
        for place in places
    )
    return _table(figure, columns, rows)


def _points(figure: Figure) -> Table:
    columns = (
        Column("", "series", factor=True),
        Column(figure.x_title, figure.x_title or "x", number=True),
        Column(figure.y_title, figure.y_title or "y", number=True, spread=_spread(figure.series)),
    )
    rows = tuple(
        Row((Cell(series.name), _place(x), _value(series, index)))
        for series in figure.series
        for index, x in enumerate(series.x)
    )
    return _table(figure, columns, rows)


def _table(figure: Figure, columns: tuple[Column, ...], rows: tuple[Row, ...]) -> Table:
    return Table(f"numbers-{figure.id}", figure.title, columns, rows)


def _column(figure: Figure, series: Series) -> Column:
    head = _head(figure, series)
    return Column(
        head,
        head or "y",
        number=True,
        spread=_spread((series,)),
        trials=any(series.samples),
    )


def _spread(series: tuple[Series, ...]) -> bool:
    return any(end is not None for each in series for end in (*each.low, *each.high))


def _head(figure: Figure, series: Series) -> str:
    if len(figure.series) == 1:
        return figure.y_title or series.name
    if not any(each.axis == 2 for each in figure.series):
        return series.name
    title = figure.y2_title if series.axis == 2 else figure.y_title
    return f"{series.name}: {title}" if title else series.name


def _value_at(series: Series, place: float | str) -> Cell:
    return _value(series, series.x.index(place)) if place in series.x else Cell()


def _value(series: Series, index: int) -> Cell:
    value = series.y[index]
    if value is None:
        return Cell()
    low = series.low[index] if index < len(series.low) else None
    high = series.high[index] if index < len(series.high) else None
    bound = index < len(series.bounds) and series.bounds[index]
    text = figure_text(value)
    return Cell(
        f"≥ {text}" if bound else text,
        interval_words(low, high),
        exact=exact(value, low, high)[:3],
        samples=series.samples[index] if index < len(series.samples) else (),
    )


def _place(place: float | str) -> Cell:
    if isinstance(place, str):
        return Cell(short(place), raw=place, hint=long_names(place))
    return Cell(place_text(place), exact=(repr(place),))
