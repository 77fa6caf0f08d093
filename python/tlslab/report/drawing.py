"""Figures of a summary as Plotly's plain data: lines, points, bars; logarithmic axes, intervals.

Colours are names of the page's palette, which `report.js` fills in. Every text is escaped, because
Plotly reads HTML in its texts.
"""

import math
from typing import Any

from tlslab.model.figure import Figure, Series
from tlslab.model.wording import figure as figure_text
from tlslab.model.wording import range_words
from tlslab.report.charts import label

Drawn = dict[str, Any]

# The page's palette has this many colours for series (report.css).
COLOURS = 8

# From this many points on, a band shows intervals better than whiskers.
_BAND_POINTS = 25

_HEIGHT_PX = 380
_BAR_PX = 26
_GROUP_PX = 22
_FRAME_PX = 92

# Ticks of a logarithmic axis within a decade: of one, of a few, of many decades.
_DECADE = (1, 2, 3, 4, 5, 7)
_DECADES = (1, 2, 5)
_MAX_TICKS = 9


def colour_of(figure: Figure, series: Series) -> str:
    """The palette's name for a series; series of one name share it."""
    names = list(dict.fromkeys(each.name for each in figure.series))
    return f"series-{names.index(series.name) % COLOURS + 1}"


def draw(figure: Figure) -> Drawn:
    """Traces and layout. Bars over names lie on their side, the first name on top."""
    if figure.kind in ("bars", "stacked_bars", "ranking"):
        return _bars(figure)
    traces = [trace for series in figure.series for trace in _line(figure, series)]
    layout: Drawn = {
        "height": _HEIGHT_PX,
        "xaxis": _axis(figure.x_title, figure.x_log, _places(figure)),
        "yaxis": _axis(figure.y_title, figure.y_log, _values(figure, 1)),
        "hovermode": "closest",
        **_marks(figure),
    }
    if any(series.axis == 2 for series in figure.series):
        second = _axis(figure.y2_title, figure.y_log, _values(figure, 2))
        layout["yaxis2"] = {**second, "overlaying": "y", "side": "right", "showgrid": False}
    return _framed(traces, layout)


def reported(series: Series, index: int) -> str:
    """A value with its interval, in figures; empty for a value that is missing."""
    value = series.y[index]
    if value is None:
        return ""
    low, high = _end(series.low, index), _end(series.high, index)
    if low is None or high is None:
        return figure_text(value)
    return f"{figure_text(value)} ({range_words(figure_text(low), figure_text(high))})"


def place_text(place: float) -> str:
    """A place on an axis in figures: whole numbers as they are."""
    return f"{place:,.0f}" if float(place).is_integer() else figure_text(place)


def _end(ends: tuple[float | None, ...], index: int) -> float | None:
    return ends[index] if index < len(ends) else None


def _line(figure: Figure, series: Series) -> list[Drawn]:
    """A line or points; the band of its intervals lies below it."""
    x = [_place(place) for place in series.x]
    axis = "y2" if series.axis == 2 else "y"
    colour = colour_of(figure, series)
    trace: Drawn = {
        "type": "scatter",
        "mode": "markers" if figure.kind == "points" else "lines+markers",
        "name": label(series.name),
        "x": x,
        "y": list(series.y),
        "yaxis": axis,
        "line": {"width": 2, "dash": "dash" if series.dashed else "solid"},
        "marker": {"size": 7, "symbol": "circle-open" if series.dashed else "circle"},
        "connectgaps": False,
        "customdata": [label(reported(series, index)) for index in range(len(series.y))],
        "hovertemplate": f"{label(series.name)}, %{{x}}: %{{customdata}}<extra></extra>",
        "meta": colour,
    }
    many = figure.kind == "line" and len(x) >= _BAND_POINTS
    if many:
        trace["mode"] = "lines"
    if not any(end is not None for end in series.low):
        return [trace]
    if many:
        return [*_band(series, x, axis, colour), trace]
    trace["error_y"] = _whiskers(series)
    return [trace]


def _band(series: Series, x: list[Any], axis: str, colour: str) -> list[Drawn]:
    common = {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "yaxis": axis,
        "line": {"width": 0},
        "hoverinfo": "skip",
        "meta": colour,
    }
    return [
        {**common, "y": list(series.low)},
        {**common, "y": list(series.high), "fill": "tonexty"},
    ]


def _whiskers(series: Series) -> Drawn:
    """Intervals as distances from the values; nothing where there is none."""
    above, below = [], []
    for index, value in enumerate(series.y):
        low, high = _end(series.low, index), _end(series.high, index)
        above.append(high - value if value is not None and high is not None else 0)
        below.append(value - low if value is not None and low is not None else 0)
    return {
        "type": "data",
        "symmetric": False,
        "array": above,
        "arrayminus": below,
        "thickness": 1.4,
        "width": 4,
    }


def _bars(figure: Figure) -> Drawn:
    named = any(isinstance(place, str) for series in figure.series for place in series.x)
    value, place = ("x", "y") if named else ("y", "x")
    traces = [_bar(figure, series, value, place) for series in figure.series]
    values = _axis(figure.y_title, figure.y_log, _values(figure, 1))
    if not figure.y_log:
        values["rangemode"] = "tozero"
    if not named:
        places = _axis(figure.x_title, figure.x_log, _places(figure))
        layout = {"height": _HEIGHT_PX, "xaxis": places, "yaxis": values, **_marks(figure)}
    else:
        names = list(dict.fromkeys(_place(p) for series in figure.series for p in series.x))
        stacked = figure.kind == "stacked_bars"
        bars = len(names) * (1 if stacked else len(figure.series))
        layout = {
            "height": _BAR_PX * bars + _GROUP_PX * len(names) + _FRAME_PX,
            "xaxis": values,
            "yaxis": {
                "categoryorder": "array",
                "categoryarray": names[::-1],
                "type": "category",
                "ticksuffix": "  ",
            },
        }
    layout["barmode"] = "stack" if figure.kind == "stacked_bars" else "group"
    if named and layout["barmode"] == "group":
        traces.reverse()  # Plotly draws the first group lowest.
    return _framed(traces, layout)


def _bar(figure: Figure, series: Series, value: str, place: str) -> Drawn:
    trace: Drawn = {
        "type": "bar",
        "orientation": "h" if value == "x" else "v",
        "name": label(series.name),
        place: [_place(each) for each in series.x],
        value: list(series.y),
        "customdata": [label(reported(series, index)) for index in range(len(series.y))],
        "hovertemplate": f"%{{{place}}}, {label(series.name)}: %{{customdata}}<extra></extra>",
        "meta": colour_of(figure, series),
    }
    if any(end is not None for end in series.low):
        trace[f"error_{value}"] = _whiskers(series)
    return trace


def _place(place: float | str) -> float | str:
    return label(place) if isinstance(place, str) else place


def _places(figure: Figure) -> list[float]:
    return [x for series in figure.series for x in series.x if not isinstance(x, str)]


def _values(figure: Figure, axis: int) -> list[float]:
    """All values and ends of intervals that an axis must have room for."""
    return [
        number
        for series in figure.series
        if series.axis == axis
        for numbers in (series.y, series.low, series.high)
        for number in numbers
        if number is not None
    ]


def _axis(title: str, logarithmic: bool, numbers: list[float]) -> Drawn:
    axis: Drawn = {"title": {"text": label(title)}}
    if not logarithmic:
        return {**axis, "rangemode": "tozero" if numbers and min(numbers) >= 0 else "normal"}
    ticks = log_ticks([number for number in numbers if number > 0])
    return {
        **axis,
        "type": "log",
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": [place_text(tick) for tick in ticks],
    }


def log_ticks(numbers: list[float]) -> list[float]:
    """Ticks of a logarithmic axis: the numbers if these are few, else 1, 2, 5 or the like."""
    distinct = sorted(set(numbers))
    if not distinct:
        return []
    if len(distinct) <= _MAX_TICKS and all(float(x).is_integer() for x in distinct):
        return distinct
    first, last = math.floor(math.log10(distinct[0])), math.ceil(math.log10(distinct[-1]))
    steps: tuple[int, ...] = _DECADES if last - first <= 3 else (1,)
    if distinct[-1] < 10 * distinct[0]:
        steps = _DECADE
    return [float(step * 10.0**power) for power in range(first, last + 1) for step in steps]


def _marks(figure: Figure) -> Drawn:
    """Vertical lines with their labels; an annotation's place on a logarithmic axis is its log."""
    lines, notes = [], []
    for mark in figure.marks:
        if figure.x_log and mark.x <= 0:
            continue
        lines.append(
            {
                "type": "line",
                "x0": mark.x,
                "x1": mark.x,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"width": 1.2, "dash": "dot"},
            }
        )
        notes.append(
            {
                "text": label(mark.label),
                "x": math.log10(mark.x) if figure.x_log else mark.x,
                "yref": "paper",
                "y": 1,
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
            }
        )
    return {"shapes": lines, "annotations": notes} if lines else {}


def _framed(traces: list[Drawn], layout: Drawn) -> Drawn:
    frame = {"margin": {"l": 8, "r": 12, "t": 28, "b": 44}, "showlegend": False, "bargap": 0.3}
    return {"data": traces, "layout": {**frame, **layout}}
