"""Plotly figures as plain data: bars with intervals, stacked costs, processor use over time.

Colours are names of the page's palette (`server-user`, ...); `report.js` fills them in, so that one
figure serves light and dark. Plotly reads HTML in its texts: every text from outside is escaped.
"""

import html
from typing import Any

from tlslab.model.estimate import Estimate
from tlslab.model.finding import CellSummary, CpuSeries
from tlslab.model.wording import figure
from tlslab.report import view
from tlslab.report.plain import plain

Figure = dict[str, Any]

_ROW_PX = 46
_FRAME_PX = 92
_PANEL_PX = 104

# Between two columns, as a share of the figure's width: room for half a tick label on a phone.
_GAP = 0.06

_SIDES = (("server", view.SERVER), ("client", view.CLIENT))
_PARTS = ("user", "system")


def label(text: str) -> str:
    """A text from outside, as Plotly may show it."""
    return html.escape(plain(text, 60))


def rate_bars(section: view.Section) -> Figure | None:
    """Connections per second, best on top, with intervals; lower bounds are hatched."""
    rows = [row for row in section.measured if view.RATE in row.cell.estimates]
    if not rows:
        return None
    estimates = [row.cell.estimates[view.RATE] for row in rows]
    bounds = [row.cell.verdict == "at_least" for row in rows]
    trace = {
        "type": "bar",
        "orientation": "h",
        "y": [label(row.name) for row in rows],
        "x": [estimate.value for estimate in estimates],
        "error_x": _errors(estimates),
        "customdata": [label(_hover(row, view.RATE)) for row in rows],
        "hovertemplate": "%{y}: %{customdata}<extra></extra>",
        "text": [figure(estimate.value) for estimate in estimates],
        "textposition": "inside",
        "insidetextanchor": "start",
        "insidetextfont": {"color": "#fff"},
        "textangle": 0,
        "constraintext": "none",
        "marker": {"pattern": {"shape": ["/" if bound else "" for bound in bounds]}},
        "meta": "rate",
    }
    axis = {"title": {"text": "new connections per second"}, "rangemode": "tozero"}
    return _figure([trace], {"xaxis": axis, "yaxis": _categories(rows), "height": _height(rows)})


def cost_bars(section: view.Section) -> Figure | None:
    """Processor time per connection: the server's on the left, the client's on the right."""
    rows = [row for row in section.measured if view.CLIENT in row.cell.estimates]
    sides = [(s, name) for s, name in _SIDES if any(name in r.cell.estimates for r in rows)]
    if not rows:
        return None
    traces = [
        _cost_trace(rows, side, name, part, index)
        for index, (side, name) in enumerate(sides, start=1)
        for part in _PARTS
    ]
    layout: Figure = {
        "barmode": "stack",
        "yaxis": _categories(rows),
        "height": _height(rows),
    }
    for index, (side, _) in enumerate(sides, start=1):
        width = 1 / len(sides)
        layout[f"xaxis{_number(index)}"] = {
            "title": {"text": f"{side}, {view.MICRO}"},
            "domain": [(index - 1) * width + (_GAP if index > 1 else 0), index * width],
            "rangemode": "tozero",
            "matches": "x" if index > 1 else None,
            "nticks": 3,
            "tickangle": 0,
        }
    return _figure(traces, layout)


def _cost_trace(rows: list[view.Row], side: str, name: str, part: str, axis: int) -> Figure:
    rows = [row for row in rows if name in row.cell.estimates]
    trace: Figure = {
        "type": "bar",
        "orientation": "h",
        "name": f"{side}, {part}",
        "y": [label(row.name) for row in rows],
        "x": [row.cell.estimates[f"{name}_{part}"].value for row in rows],
        "customdata": [label(_hover(row, f"{name}_{part}")) for row in rows],
        "hovertemplate": f"%{{y}}, {side}, {part}: %{{customdata}} {view.MICRO}<extra></extra>",
        "xaxis": f"x{_number(axis)}",
        "yaxis": "y",
        "meta": f"{side}-{part}",
    }
    if part == _PARTS[-1]:
        # At the end of the stack: the interval of the whole cost.
        trace["error_x"] = _errors([row.cell.estimates[name] for row in rows])
    return trace


def cpu_panels(section: view.Section) -> Figure | None:
    """Processor use over time, a row for each cell: the server on the left, the client right."""
    rows = [row for row in section.measured if row.cell.cpu_over_time]
    if not rows:
        return None
    sides = [s for s, _ in _SIDES if any(s in row.cell.cpu_over_time for row in rows)]
    traces: list[Figure] = []
    layout: Figure = {"annotations": [], "height": _PANEL_PX * len(rows) + _FRAME_PX}
    for line, row in enumerate(reversed(rows)):
        for column, side in enumerate(sides):
            axis = len(layout["annotations"]) + 1
            series = row.cell.cpu_over_time.get(side)
            layout |= _panel_axes(axis, (line, len(rows)), (column, len(sides)))
            layout["annotations"].append(
                _panel_title(side if column else f"{row.name}: {side}", axis)
            )
            if series is not None:
                traces += _areas(series, side, row.cell, axis)
    return _figure(traces, layout)


def _panel_axes(axis: int, line: tuple[int, int], column: tuple[int, int]) -> Figure:
    """The axes of a panel; `line` and `column`: its place, from below and left, of how many."""
    width, height = 1 / column[1], 1 / line[1]
    left, bottom = column[0] * width, line[0] * height
    number = _number(axis)
    return {
        f"xaxis{number}": {
            "domain": [left + (_GAP if column[0] else 0), left + width],
            "anchor": f"y{number}",
            "ticksuffix": " s",
            "tickangle": 0,
            "showticklabels": line[0] == 0,
            "nticks": 4,
            "rangemode": "tozero",
        },
        f"yaxis{number}": {
            "domain": [bottom, bottom + height * 0.74],
            "anchor": f"x{number}",
            "range": [0, 1.05],
            "tickformat": ".0%",
            "tickvals": [0, 0.5, 1],
            "showticklabels": column[0] == 0,
        },
    }


def _panel_title(text: str, axis: int) -> Figure:
    return {
        "text": label(text),
        "xref": f"x{_number(axis)} domain",
        "yref": f"y{_number(axis)} domain",
        "x": 0,
        "y": 1.02,
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
    }


def _areas(series: CpuSeries, side: str, cell: CellSummary, axis: int) -> list[Figure]:
    """User and system time, stacked; each value stands for the slice that ends there."""
    at = [0.0, *series.at_s]
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "line": {"width": 0.5, "shape": "hv"},
            "stackgroup": f"{cell.key}-{side}",
            "name": f"{side}, {part}",
            "x": at,
            "y": [*shares, shares[-1]],
            "hovertemplate": f"%{{x:.1f}} s: %{{y:.0%}} {part}<extra></extra>",
            "xaxis": f"x{_number(axis)}",
            "yaxis": f"y{_number(axis)}",
            "meta": f"{side}-{part}",
        }
        for part, shares in zip(_PARTS, (series.user, series.system), strict=True)
    ]


def _hover(row: view.Row, estimate: str) -> str:
    value = row.value(estimate)
    if value is None:
        return ""
    return f"{value.text} ({value.interval})" if value.interval else value.text


def _errors(estimates: list[Estimate]) -> Figure:
    """Intervals as distances from the values; nothing where there is none."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [0 if e.high is None else e.high - e.value for e in estimates],
        "arrayminus": [0 if e.low is None else e.value - e.low for e in estimates],
        "thickness": 1.4,
        "width": 4,
    }


def _categories(rows: list[view.Row]) -> Figure:
    """An axis of cells in the table's order, from the top."""
    names = [label(row.name) for row in rows]
    return {"categoryorder": "array", "categoryarray": names[::-1], "ticksuffix": "  "}


def _height(rows: list[view.Row]) -> int:
    return _ROW_PX * len(rows) + _FRAME_PX


def _number(axis: int) -> str:
    """Plotly's first axis has no number."""
    return "" if axis == 1 else str(axis)


def _figure(traces: list[Figure], layout: Figure) -> Figure:
    frame = {"margin": {"l": 8, "r": 12, "t": 28, "b": 44}, "showlegend": False, "bargap": 0.4}
    return {"data": traces, "layout": {**frame, **layout}}
