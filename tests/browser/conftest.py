"""A browser, and the pages of all kinds that it opens."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from browser.made import Made
from browser.opened import CHROMIUM, lacking
from factories.pages import HISTORY, SUMMARIES, made_history
from tlslab.model.finding import Summary
from tlslab.report import render_html


@pytest.fixture(scope="module")  # ends before others look for processes
def browser() -> Iterator[Browser]:
    if (why := lacking()) is not None:
        pytest.skip(why)
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def summaries() -> dict[str, Summary]:
    """The summaries of all pages except the history, by page name."""
    return Made(lambda name: SUMMARIES[name]())


@pytest.fixture(scope="session")
def pages(
    summaries: dict[str, Summary], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """The files of all pages."""
    folder = tmp_path_factory.mktemp("report")

    def make(name: str) -> Path:
        path = folder / f"{name}.html"
        text = made_history() if name == HISTORY else render_html(summaries[name])
        path.write_text(text, "utf-8")
        return path

    return Made(make)
