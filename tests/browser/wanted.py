"""The required contents of a page's CSV files, from `summary.json` alone.

A file is a list of rows of values: text, numbers, None for an empty field. A column is named by its
head; the columns of its interval follow if the file has them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan
from typing import Any

from tlslab.domain.figure import Marked
from tlslab.domain.plain import plain
from tlslab.lab.store import from_json
from tlslab.words.numbers import marked_words

Value = str | float | None
Document = Mapping[str, Any]

INTERVAL = ("value", "low", "high", "n")

# The verdicts of cells as the page has them.
VERDICTS = {"at_least": "lower bound"}

# The estimates in the tables of results and of ratios.
LEADING = {
    "results": "connections_per_s",
    "times": "connections_per_s",
    "kept-open": "keep_alive_requests_per_s",
}


def field(value: Value) -> str:
    """A text as a CSV field: sanitised, and protected from evaluation by a spreadsheet."""
    words = "" if value is None else str(value)
    text = plain(words, len(words)).strip()
    formula = text[:1] in ("=", "+", "-", "@") and not re.match(r"[+-]?[\d.]", text)
    return f"'{text}" if text and formula else text


def same(found: str, wanted: Value) -> bool:
    """Whether a field has the value: a number in all its digits, a text unchanged."""
    if isinstance(wanted, int | float):
        number = float(found or "inf")
        return number == wanted or (isnan(number) and isnan(wanted))
    return found == field(wanted)


def differences(found: Sequence[Sequence[str]], wanted: Iterable[Sequence[Value]]) -> list[str]:
    """The rows of a file that differ from the required ones."""
    rows = list(wanted)
    if len(found) != len(rows):
        return [f"{len(found)} rows, wanted: {len(rows)}"]
    return [
        f"{list(row)}, wanted: {list(right)}"
        for row, right in zip(found, rows, strict=True)
        if len(row) != len(right) or not all(map(same, row, right))
    ]


def table_rows(table: Document) -> Iterator[list[Value]]:
    """The rows of a table; columns with intervals have four fields."""
    width = len(table["columns"])
    filled = ([*row[:width], *[None] * (width - len(row))] for row in table["rows"])
    rows = [[_said(cell) for cell in row] for row in filled]
    spread = [
        any(isinstance(row[at], dict) and row[at]["low"] is not None for row in rows)
        for at in range(width)
    ]
    for row in rows:
        yield [
            value
            for cell, wide in zip(row, spread, strict=True)
            for value in _fields(cell, 4 if wide else 1)
        ]


def _said(cell: Any) -> Any:
    """A cell; an estimate after a mark (`at least`) is words."""
    marked = isinstance(cell, dict) and "mark" in cell
    return marked_words(from_json(cell, Marked)) if marked else cell


def _fields(cell: Any, count: int) -> list[Value]:
    numbers = [cell[name] for name in INTERVAL] if isinstance(cell, dict) else [cell]
    return [*numbers, *[None] * 3][:count]


def figure_rows(figure: Document) -> Iterator[list[Value]]:
    """The numbers behind a figure, by place; by point if a series has a place twice."""
    if any(len(set(series["x"])) < len(series["x"]) for series in figure["series"]):
        return _point_rows(figure["series"])
    return _place_rows(figure["series"])


def _point_rows(every: Sequence[Document]) -> Iterator[list[Value]]:
    wide = any(map(_has_interval, every))
    for series in every:
        label = ", ".join(filter(None, (series["name"], series["hollow"])))
        for at, x in enumerate(series["x"]):
            yield [label, x, *_drawn(series, at, wide)]


def _place_rows(every: Sequence[Document]) -> Iterator[list[Value]]:
    places = list(dict.fromkeys(x for series in every for x in series["x"]))
    if not any(isinstance(place, str) for place in places):
        places.sort()
    for place in places:
        row: list[Value] = [place]
        for series in every:
            at = series["x"].index(place) if place in series["x"] else None
            row += _drawn(series, at, _has_interval(series))
            if any(series["samples"]):
                row.append(_trials(series, at))
        yield row


def _has_interval(series: Document) -> bool:
    return any(end is not None for end in (*series["low"], *series["high"]))


def _at(series: Document, name: str, at: int | None) -> Any:
    return series[name][at] if at is not None and at < len(series[name]) else None


def _drawn(series: Document, at: int | None, wide: bool) -> list[Value]:
    value = _at(series, "y", at)
    ends = [None if value is None else _at(series, name, at) for name in ("low", "high")]
    return [value, *ends, None] if wide else [value]


def _trials(series: Document, at: int | None) -> str:
    values = None if _at(series, "y", at) is None else _at(series, "samples", at)
    return " ".join(repr(float(value)) for value in values or ())


def results_rows(document: Document, name: str, head: Sequence[str]) -> dict[str, list[Value]]:
    """The rows of a table of results by the keys of their cells."""
    cells = {cell["key"]: cell for cell in document["cells"]}
    return {key: list(_results(document, LEADING[name], cell, head)) for key, cell in cells.items()}


def _results(
    document: Document, leading: str, cell: Document, head: Sequence[str]
) -> Iterator[Value]:
    names = {name for each in document["cells"] for name in each["estimates"]}
    ratio = compared(document, cell["key"], leading)
    for column in head:
        name, part = _part(column, {*names, "ratio"})
        if name == "ratio":
            yield _ratio(document, cell, ratio, part)
        elif name:
            found = cell["estimates"].get(name)
            yield None if found is None else found[part]
        elif column == "cell":
            yield cell["key"]
        elif column == "verdict":
            yield VERDICTS.get(cell["verdict"], cell["verdict"])
        elif column == "rank":
            yield _rank(document, cell["key"], leading)
        else:
            yield cell["factors"].get(column)


def _part(column: str, names: set[str]) -> tuple[str, str]:
    """The estimate of a column, and which of its numbers; empty for another column."""
    if column in names:
        return column, "value"
    name, _, part = column.rpartition("_")
    return (name, part) if name in names and part in INTERVAL else ("", "")


def compared(document: Document, candidate: str, estimate: str) -> Document | None:
    """The comparison of a cell with its baseline; None without one."""
    for each in document["comparisons"]:
        if each["candidate"] == candidate and each["estimate"] == estimate:
            found: Document = each
            return None if found["verdict"] == "not_comparable" else found
    return None


def _ratio(document: Document, cell: Document, found: Document | None, part: str) -> Value:
    baseline = document["experiment"]["baseline"].items()
    if all(cell["factors"].get(name) == level for name, level in baseline):
        return "baseline" if part == "value" else None
    if found is None:
        return None
    number: Value = found["ratio" if part == "value" else part]
    return number


def _rank(document: Document, key: str, leading: str) -> str:
    """The ranks that the trials leave open; of new connections, those of the first ranking."""
    costs = ("server_cpu_us_per_connection", "client_cpu_us_per_connection")
    for estimate in (leading, *(costs if leading == LEADING["results"] else ())):
        for ranking in document["rankings"]:
            for place in ranking["places"]:
                if ranking["estimate"] == estimate and place["cell"] == key:
                    best, worst = place["best"], place["worst"]
                    return f"{best}" if best == worst else f"{best}–{worst}"
    return ""


def published_rows(document: Document) -> Iterator[dict[str, Value]]:
    """A study's ratios beside those of the run, the study's largest first, by column."""
    rate, both = "connections_per_s", "connections_per_cpu_s"
    found = [c for c in document["comparisons"] if c["published"] and c["estimate"] == rate]
    for each in sorted(found, key=lambda each: -each["published"]["ratio"]):
        row: dict[str, Value] = {"study": each["published"]["ratio"]}
        for name, estimate in (("server", rate), ("both_sides", both)):
            ours = compared(document, each["candidate"], estimate)
            row[name] = None if ours is None else ours["ratio"]
            row |= {f"{name}_{end}": None if ours is None else ours[end] for end in INTERVAL[1:]}
        yield row


def flame_rows(flame: Document) -> set[tuple[str, str, float, int]]:
    """All frames of a flame graph as its table has them; the table lists the widest ones."""
    return {
        (frame["name"].replace("`", ": "), frame["part"], frame["share"], frame["samples"])
        for frame in flame["frames"]
    }
