"""Pages of all kinds in a real browser: everything can be read, on any screen and on paper."""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ElementHandle, ViewportSize

from browser.accessibility import faint_texts, obstacles
from browser.geometry import Fault, page_faults, text_faults
from browser.made import Made
from browser.opened import DESKTOP, PAPER, PHONE, SCHEMES, WIDTHS, Opened
from browser.saved import buttons, figure_faults, table_faults
from factories.pages import HISTORY, PAGES, SUMMARIES
from tlslab.domain.finding import Summary
from tlslab.lab.store import to_json
from tlslab.report.few_trials import shown
from tlslab.report.html import HEAVIEST

LIGHT, DARK = SCHEMES

EACH_PAGE = pytest.mark.parametrize("name", PAGES, indirect=True)
EACH_REPORT = pytest.mark.parametrize("name", SUMMARIES, indirect=True)


def faults(opened: Opened) -> list[Fault]:
    """Texts that overlap, leave their place, or lie under a mark; those of charts first."""
    return [*text_faults(opened.page), *page_faults(opened.page)]


def width_of(opened: Opened) -> int:
    """The width of the page in pixels."""
    found: int = opened.page.evaluate("document.documentElement.scrollWidth")
    return found


@pytest.fixture(scope="module")
def name(request: pytest.FixtureRequest) -> str:
    """The name of a page. The tests of one page follow one another."""
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def page_of(browser: Browser, pages: dict[str, Path], name: str) -> Iterator[Opened]:
    """The page of this name: opened once, because that takes longer than most tests of it."""
    with Opened(browser, pages[name]) as opened:
        yield opened


@pytest.fixture
def opened(page_of: Opened) -> Opened:
    """The page of this name as it is at its start, whatever other tests did with it."""
    page_of.as_new()
    return page_of


@EACH_PAGE
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


@EACH_REPORT
def test_details_start_within_four_screens(opened: Opened) -> None:
    top = opened.page.locator("#details").bounding_box()
    assert top is not None
    assert top["y"] <= 4 * DESKTOP["height"]
    assert opened.complaints == []


@EACH_PAGE
@pytest.mark.parametrize("width", [1280, 400])
def test_the_verdict_is_on_the_first_screen(opened: Opened, width: int) -> None:
    """Without a click and without scrolling."""
    opened.show_on(ViewportSize(width=width, height=800))
    verdict = opened.page.locator("#answer .headline").first
    assert verdict.is_visible()
    box = verdict.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < box["y"] + box["height"] <= 800


@pytest.mark.capability(
    "a page of each kind in the browser",
    only=(
        "ranking",
        "suites",
        "runtimes",
        "why",
        "capacity",
        "concurrency",
        "costs",
        "effects",
        "proof",
        "compare",
        "history",
    ),
)
@EACH_PAGE
def test_a_page_fits_its_reader_and_asks_for_nothing(
    opened: Opened, pages: dict[str, Path], name: str
) -> None:
    """On screens and on paper. Colours do not change the layout: one width is shown in the dark."""
    found: dict[str, list[Fault]] = {}
    widths: dict[str, tuple[int, int]] = {}
    screens = [*((width, LIGHT) for width in WIDTHS), (WIDTHS[-1], DARK)]
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


def written(summary: Summary) -> str:
    """The summary as JSON. JSON has no NaN: such a number is null."""
    text = json.dumps(to_json(summary))
    return json.dumps(json.loads(text, parse_constant=lambda _: None))


@EACH_REPORT
def test_every_file_that_is_saved_has_what_the_summary_has(
    opened: Opened, summaries: dict[str, Summary], kinds: dict[str, set[str]], name: str
) -> None:
    """A run of fewer than five trials is compared without intervals: its page has none."""
    document = json.loads(json.dumps(to_json(shown(summaries[name]))))
    # A heavy page leaves single trials of charts in Details to summary.json, and says so.
    text = opened.page.text_content("body") or ""
    bare = "single trials of the charts in Details" in text
    found = buttons(opened)
    assert found
    kinds[name] = kinds_of(found)
    faults = {}
    for kind, of, button in found:
        file = opened.file_of(button)
        if kind == "figure":
            folded = button.evaluate("button => Boolean(button.closest('#details'))")
            faults[f"{kind} {of}"] = figure_faults(document, of, file, not (bare and folded))
        else:
            faults[f"{kind} {of}"] = table_faults(document, of, file)
    assert opened.complaints == []
    assert {of: each[:3] for of, each in faults.items() if each} == {}


@EACH_PAGE
def test_nothing_serious_keeps_anybody_from_reading(
    opened: Opened, summaries: dict[str, Summary], name: str
) -> None:
    # The opened page has all of the folded one, in the same colours.
    found = {"folded": obstacles(opened.page)}
    opened.open_all()
    if name != HISTORY:
        assert "of the second run" in opened.drop(written(summaries[name]))
    for viewport, scheme in ((DESKTOP, LIGHT), (PHONE, DARK)):
        opened.show_on(viewport, scheme)
        found[scheme] = [*obstacles(opened.page), *faint_texts(opened.page)]
    assert opened.complaints == []
    assert {where: each for where, each in found.items() if each} == {}


def kinds_of(found: list[tuple[str, str, ElementHandle]]) -> set[str]:
    """The kinds of files that the buttons save."""
    return {f"{kind} {of.partition('-')[0]}" for kind, of, _ in found}


@pytest.fixture(scope="module")
def kinds(browser: Browser, pages: dict[str, Path]) -> dict[str, set[str]]:
    """The kinds of files of each page; a page that no test has looked at is opened."""

    def make(name: str) -> set[str]:
        with Opened(browser, pages[name]) as opened:
            return kinds_of(buttons(opened))

    return Made(make)


def test_all_kinds_of_files_are_among_them(kinds: dict[str, set[str]]) -> None:
    """The pages together have each kind of table, so that every kind is tested."""
    names = kinds["ranking"] | kinds["kept-open"] | kinds["why"]
    assert {
        "figure setting", "figure why", "table flame", "table results", "table kept", "table times",
        "table published", "table table",
    } <= names  # fmt: skip
