"""Every CSV file that a page saves has what `summary.json` has, with all its digits.

Of a run of fewer than five trials it has no interval, as the page has none.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator

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
from factories.pages import SUMMARIES
from tlslab.model.finding import Summary
from tlslab.report.few_trials import shown
from tlslab.store import to_json

Saved = list[list[str]]


def figure_faults(document: Any, name: str, saved: Saved) -> list[str]:
    """What the file of a chart has otherwise than the summary."""
    figure = next(each for each in document["figures"] if each["id"] == name)
    if document.get("without_trials") and name != document["answer"]["figure"]:
        series = [{**each, "samples": []} for each in figure["series"]]
        figure = {**figure, "series": series}
    return differences(saved[1:], figure_rows(figure))


def table_faults(document: Any, name: str, saved: Saved) -> list[str]:
    """What the file of a table has otherwise than the summary."""
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
    """What the file of the published figures has otherwise than the comparisons."""
    wanted = list(published_rows(document))
    assert len(rows) == len(wanted)
    return [
        f"{name}: {value}, wanted: {right[name]}"
        for row, right in zip(rows, wanted, strict=True)
        for name, value in zip(head, row, strict=True)
        if name in right and not same(value, right[name])
    ]


def buttons(opened: Opened) -> list[tuple[str, str, Locator]]:
    """All buttons that save a file: `figure` or `table`, its name, and the button."""
    opened.open_all()
    found = []
    for button in opened.page.get_by_role("button", name="CSV", exact=True).all():
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


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_file_that_is_saved_has_what_the_summary_has(
    browser: Browser, pages: dict[str, Path], summaries: dict[str, Summary], name: str
) -> None:
    document = json.loads(json.dumps(to_json(shown(summaries[name]))))
    faults = {}
    with Opened(browser, pages[name]) as opened:
        # A heavy page says that single trials of charts in Details are in summary.json alone.
        text = opened.page.text_content("body") or ""
        document["without_trials"] = "single trials of the charts in Details" in text
        found = buttons(opened)
        assert found
        for kind, of, button in found:
            judge = figure_faults if kind == "figure" else table_faults
            faults[f"{kind} {of}"] = judge(document, of, opened.file_of(button))
        assert opened.complaints == []
    assert {of: each[:3] for of, each in faults.items() if each} == {}


def test_all_kinds_of_files_are_among_them(browser: Browser, pages: dict[str, Path]) -> None:
    """The pages together have each kind of table, so that none goes unseen."""
    names = set()
    for name in ("ranking", "kept-open", "why"):
        with Opened(browser, pages[name]) as opened:
            names |= {f"{kind} {of.partition('-')[0]}" for kind, of, _ in buttons(opened)}
    assert {
        "figure setting", "figure why", "table flame", "table results", "table kept", "table times",
        "table published", "table table",
    } <= names  # fmt: skip
