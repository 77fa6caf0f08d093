"""Charts in a real browser: at any width, no text overlaps another one or leaves its chart."""

from importlib.resources import files

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from browser.geometry import Fault, text_faults
from factories.figures import gallery
from tlslab.report.svg import SIZES, draw

CSS = (files("tlslab.report") / "templates" / "charts.css").read_text("utf-8")


def opened(browser: Browser, width: int, *charts: str) -> Page:
    page = browser.new_page(viewport=ViewportSize(width=width + 16, height=900))
    page.set_content(f"<!doctype html><style>{CSS}</style>{''.join(charts)}")
    return page


@pytest.mark.parametrize("width", SIZES)
def test_no_text_overlaps_or_leaves_its_chart(browser: Browser, width: int) -> None:
    page = opened(browser, width, *(draw(figure, width) for figure in gallery()))
    assert page.locator("svg.fig").count() == len(gallery())
    assert text_faults(page) == []
    page.close()


@pytest.mark.parametrize("font", ["DejaVu Sans", "DejaVu Sans Condensed", "DejaVu Serif"])
def test_texts_have_room_in_other_fonts(browser: Browser, font: str) -> None:
    other = f"<style>.fig {{ font-family: '{font}' }}</style>"
    page = opened(browser, 700, other, *(draw(figure, 700) for figure in gallery()))
    assert text_faults(page) == []
    page.close()


def test_a_chart_shrinks_with_its_page(browser: Browser) -> None:
    page = opened(browser, 300, draw(gallery()[0], 342))
    box = page.locator("svg.fig").bounding_box()
    assert box is not None
    assert box["width"] == 300
    page.close()


def test_faults_are_found(browser: Browser) -> None:
    page = opened(
        browser,
        400,
        "<svg class='fig' data-figure='made' width='200' height='100'>"
        "<text x='10' y='20'>one</text><text x='20' y='24'>two</text>"
        "<text x='190' y='60'>leaving<title>not drawn</title></text>"
        "<text x='10' y='80'>apart</text><path class='w' d='M5 76H60'/></svg>",
    )
    assert text_faults(page) == [
        Fault("made at 200", "leaves", "leaving", ""),
        Fault("made at 200", "overlaps", "one", "two"),
        Fault("made at 200", "is hidden by", "apart", ".w"),
    ]
    page.close()
