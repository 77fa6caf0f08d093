"""Pages of all kinds in a real browser: everything can be read, on any screen and on paper."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ViewportSize

from browser.accessibility import faint_texts, obstacles
from browser.geometry import Fault, page_faults, text_faults
from browser.opened import DESKTOP, PAPER, PHONE, SCHEMES, WIDTHS, Opened
from browser.saved import buttons, figure_faults, table_faults
from factories.pages import HISTORY, PAGES, SUMMARIES
from tlslab.model.finding import Summary
from tlslab.report.few_trials import shown
from tlslab.report.html import HEAVIEST
from tlslab.store import to_json

LIGHT, DARK = SCHEMES


def faults(opened: Opened) -> list[Fault]:
    """Texts that overlap, leave their place, or lie under a mark; those of charts first."""
    return [*text_faults(opened.page), *page_faults(opened.page)]


def width_of(opened: Opened) -> int:
    """The width of the page in pixels."""
    found: int = opened.page.evaluate("document.documentElement.scrollWidth")
    return found


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light(pages: dict[str, Path], name: str) -> None:
    assert pages[name].stat().st_size <= HEAVIEST


def test_no_script_reads_a_width() -> None:
    """A page is laid out by its styles alone: a changed width shows what that width would."""
    scripts = [
        text
        for each in files("tlslab.report").joinpath("templates").iterdir()
        if each.name.endswith(".js")
        for text in [each.read_text("utf-8")]
    ]
    assert len(scripts) > 1
    reads = re.compile("innerWidth|clientWidth|offsetWidth|scrollWidth|matchMedia|ResizeObserver")
    assert [found for text in scripts for found in reads.findall(text)] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_reader_and_asks_for_nothing(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    """On screens and on paper. Colours do not change the layout: one width is shown in the dark."""
    found: dict[str, list[Fault]] = {}
    widths: dict[str, tuple[int, int]] = {}
    screens = [*((width, LIGHT) for width in WIDTHS), (WIDTHS[-1], DARK)]
    with Opened(browser, pages[name], viewport=PHONE) as opened:
        for width in WIDTHS:
            opened.show_on(ViewportSize(width=width, height=800))
            widths[f"{width} folded"] = (width_of(opened), width)
        opened.show_on(PAPER, media="print")
        widths["paper folded"] = (width_of(opened), PAPER["width"])
        opened.open_all()
        for width, scheme in screens:
            opened.show_on(ViewportSize(width=width, height=800), scheme)
            widths[f"{width} {scheme}"] = (width_of(opened), width)
            found[f"{width} {scheme}"] = faults(opened)
        opened.show_on(PAPER, media="print")
        widths["paper"] = (width_of(opened), PAPER["width"])
        found["paper"] = faults(opened)
        assert opened.requests == [pages[name].as_uri()]
        assert opened.complaints == []
    assert {where: both for where, both in widths.items() if both[0] != both[1]} == {}
    assert {where: each for where, each in found.items() if each} == {}


@pytest.mark.parametrize("name", SUMMARIES)
def test_details_start_within_four_screens(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    with Opened(browser, pages[name]) as opened:
        top = opened.page.locator("#details").bounding_box()
        assert top is not None
        assert top["y"] <= 4 * DESKTOP["height"]


def written(summary: Summary) -> str:
    """The summary as JSON. JSON has no NaN: such a number is null."""
    text = json.dumps(to_json(summary))
    return json.dumps(json.loads(text, parse_constant=lambda _: None))


@pytest.mark.parametrize("name", PAGES)
def test_nothing_serious_keeps_anybody_from_reading(
    browser: Browser, pages: dict[str, Path], summaries: dict[str, Summary], name: str
) -> None:
    with Opened(browser, pages[name], viewport=DESKTOP) as opened:
        # The opened page has all of the folded one, in the same colours.
        found = {"folded": obstacles(opened.page)}
        opened.open_all()
        if name != HISTORY:
            assert "of the second run" in opened.drop(written(summaries[name]))
        for viewport, scheme in ((DESKTOP, LIGHT), (PHONE, DARK)):
            opened.show_on(viewport, scheme)
            found[scheme] = [*obstacles(opened.page), *faint_texts(opened.page)]
    assert {where: each for where, each in found.items() if each} == {}


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_file_that_is_saved_has_what_the_summary_has(
    browser: Browser, pages: dict[str, Path], summaries: dict[str, Summary], name: str
) -> None:
    """A run of fewer than five trials is compared without intervals: its page has none."""
    document = json.loads(json.dumps(to_json(shown(summaries[name]))))
    faults = {}
    with Opened(browser, pages[name]) as opened:
        # A heavy page leaves single trials of charts in Details to summary.json, and says so.
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
    """The pages together have each kind of table, so that every kind is tested."""
    names = set()
    for name in ("ranking", "kept-open", "why"):
        with Opened(browser, pages[name]) as opened:
            names |= {f"{kind} {of.partition('-')[0]}" for kind, of, _ in buttons(opened)}
    assert {
        "figure setting", "figure why", "table flame", "table results", "table kept", "table times",
        "table published", "table table",
    } <= names  # fmt: skip
