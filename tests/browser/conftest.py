"""A browser, and the pages of all kinds that it opens."""

import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from browser.made import Made, kept
from browser.opened import CHROMIUM, Opened, lacking
from factories.pages import HISTORY, SUMMARIES, made_history
from tlslab.domain.finding import Summary
from tlslab.report import render_html

CLIPBOARD = ["clipboard-read", "clipboard-write"]


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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of summaries and pages. The workers of pytest-xdist have it in common."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return tmp_path_factory.mktemp("report")
    common = tmp_path_factory.getbasetemp().parent / "report"
    common.mkdir(exist_ok=True)
    return common


@pytest.fixture(scope="session")
def summaries(folder: Path) -> dict[str, Summary]:
    """The summaries of all pages except the history, by page name."""

    def make(name: str) -> Summary:
        path = kept(folder / f"{name}.pickle", lambda: pickle.dumps(SUMMARIES[name]()))
        found: Summary = pickle.loads(path.read_bytes())
        return found

    return Made(make)


@pytest.fixture(scope="session")
def pages(summaries: dict[str, Summary], folder: Path) -> dict[str, Path]:
    """The files of all pages."""

    def text(name: str) -> str:
        return made_history() if name == HISTORY else render_html(summaries[name])

    return Made(lambda name: kept(folder / f"{name}.html", lambda: text(name).encode("utf-8")))


@pytest.fixture(scope="module")
def ranking_page(browser: Browser, pages: dict[str, Path]) -> Iterator[Opened]:
    """The page `ranking`, opened once for the tests that leave nothing behind."""
    with Opened(browser, pages["ranking"], permissions=CLIPBOARD) as opened:
        yield opened


@pytest.fixture
def ranking(ranking_page: Opened) -> Opened:
    """The page `ranking` as it is at its start: folded, without a second run."""
    ranking_page.as_new()
    return ranking_page
