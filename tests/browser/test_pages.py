"""Pages of all kinds in a real browser: everything can be read, on any screen and on paper."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ViewportSize

from browser.geometry import Fault, page_faults, text_faults
from browser.opened import AXE, DESKTOP, PAPER, PHONE, SCHEMES, WIDTHS, Opened
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


# Colours do not change the layout: the dark scheme is tested at one width.
@pytest.mark.parametrize(
    ("width", "scheme"), [*((width, LIGHT) for width in WIDTHS), (WIDTHS[-1], DARK)]
)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_reader_and_asks_for_nothing(
    browser: Browser, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    viewport = ViewportSize(width=width, height=800)
    with Opened(browser, pages[name], viewport=viewport, color_scheme=scheme) as opened:
        assert opened.requests == [pages[name].as_uri()]
        assert opened.complaints == []
        assert width_of(opened) == width
        opened.open_all()
        assert width_of(opened) == width
        assert faults(opened) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_paper(browser: Browser, pages: dict[str, Path], name: str) -> None:
    with Opened(browser, pages[name], viewport=PAPER, color_scheme=LIGHT) as opened:
        opened.page.emulate_media(media="print")
        assert width_of(opened) <= PAPER["width"]
        opened.open_all()
        assert width_of(opened) <= PAPER["width"]
        assert faults(opened) == []


@pytest.mark.parametrize("name", SUMMARIES)
def test_details_start_within_four_screens(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    with Opened(browser, pages[name]) as opened:
        top = opened.page.locator("#details").bounding_box()
        assert top is not None
        assert top["y"] <= 4 * DESKTOP["height"]


def serious(opened: Opened, colours: bool = True) -> list[tuple[str, str, str]]:
    """The obstacles to accessibility, by axe-core; without those of contrast unless `colours`."""
    opened.page.evaluate(AXE)
    found = opened.page.evaluate(
        "enabled => axe.run({rules: {'color-contrast': {enabled}}}).then(all => all.violations)",
        colours,
    )
    return [
        (each["id"], node["html"][:200], node.get("failureSummary", ""))
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]


def written(summary: Summary) -> str:
    """The summary as JSON. JSON has no NaN: such a number is null."""
    text = json.dumps(to_json(summary))
    return json.dumps(json.loads(text, parse_constant=lambda _: None))


@pytest.mark.parametrize(
    ("viewport", "scheme"), [(DESKTOP, LIGHT), (PHONE, DARK)], ids=["desktop-light", "phone-dark"]
)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_serious_keeps_anybody_from_reading(
    browser: Browser,
    pages: dict[str, Path],
    summaries: dict[str, Summary],
    name: str,
    viewport: ViewportSize,
    scheme: str,
) -> None:
    with Opened(browser, pages[name], viewport=viewport, color_scheme=scheme) as opened:
        # The opened page includes all of the folded one, in the same colours: contrast is judged
        # there, and on the phone everything.
        if viewport == DESKTOP:
            assert serious(opened, colours=False) == []
        opened.open_all()
        if name != HISTORY:
            assert "of the second run" in opened.drop(written(summaries[name]))
        assert serious(opened) == []


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
