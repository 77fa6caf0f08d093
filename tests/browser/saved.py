"""Differences between the CSV files that a page saves and `summary.json`, in all digits."""

from typing import Any

from playwright.sync_api import ElementHandle

from browser.opened import Opened
from browser.wanted import (
    LEADING,
    differences,
    figure_rows,
    flame_rows,
    published_rows,
    results_rows,
    same,
    table_rows,
)

Saved = list[list[str]]


def figure_faults(document: Any, name: str, saved: Saved, trials: bool = True) -> list[str]:
    """The differences between the file of a chart and the summary; `trials`: it has single ones."""
    figure = next(each for each in document["figures"] if each["id"] == name)
    if not trials:
        series = [{**each, "samples": []} for each in figure["series"]]
        figure = {**figure, "series": series}
    return differences(saved[1:], figure_rows(figure))


def table_faults(document: Any, name: str, saved: Saved) -> list[str]:
    """The differences between the file of a table and the summary."""
    head, rows = saved[0], saved[1:]
    if name.startswith("table-"):
        table = next(t for t in document["tables"] if t["id"] == name.removeprefix("table-"))
        return differences(rows, table_rows(table))
    if name in LEADING:
        wanted = results_rows(document, name, head)
        return differences(rows, [wanted[row[head.index("cell")]] for row in rows])
    if name == "published-ratios":
        return published_faults(document, head, rows)
    if name.startswith("flame-"):
        flame = next(f for f in document["flames"] if f["id"] == name.removeprefix("flame-"))
        known = flame_rows(flame)
        found = [(function, part, float(a), int(b)) for function, part, a, b in rows]
        return [str(each) for each in found if each not in known]
    return [f"{name}: of nothing in the summary"]


def published_faults(document: Any, head: list[str], rows: Saved) -> list[str]:
    """The differences between the file of the published figures and the comparisons."""
    wanted = list(published_rows(document))
    if len(rows) != len(wanted):
        return [f"{len(rows)} rows, wanted: {len(wanted)}"]
    return [
        f"{name}: {value}, wanted: {right[name]}"
        for row, right in zip(rows, wanted, strict=True)
        for name, value in zip(head, row, strict=True)
        if name in right and not same(value, right[name])
    ]


def buttons(opened: Opened) -> list[tuple[str, str, ElementHandle]]:
    """All buttons that save a file: `figure` or `table`, its name, and the button."""
    opened.open_all()
    found = []
    # Handles: a locator would look for all buttons of the page again at each use.
    for button in opened.page.get_by_role("button", name="CSV", exact=True).element_handles():
        kind, name = button.evaluate(
            """button => {
                const figure = button.closest('figcaption')?.parentElement;
                if (figure) return ['figure', figure.dataset.figure];
                const frame = button.closest('.tools').nextElementSibling;
                return ['table', frame.querySelector('table').id.replace(/^grid-/, '')];
            }"""
        )
        found.append((kind, name, button))
    return found
