"""The page in a real browser: no network, light and dark, phone and print, nothing hostile runs."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, ViewportSize, sync_playwright
from plotly.offline import get_plotlyjs

from factories.data import with_data
from factories.run import World, made_run
from tlslab.analysis import summarise
from tlslab.model.finding import Summary
from tlslab.report import render_html

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

DESKTOP = ViewportSize(width=1200, height=900)
PHONE = ViewportSize(width=390, height=844)
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")  # Gone before other tests look for processes left behind.
def browser() -> Iterator[Browser]:
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def report(full_summary: Summary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_html(full_summary), "utf-8")
    return path


class Opened:
    """A page that was opened, with all that it asked for and complained of."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", self._on_request)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.goto(path.as_uri())
        page.wait_for_selector(".chart .main-svg")

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith(("data:", "blob:")):
            self.requests.append(request.url)


def test_a_script_beside_the_page_draws_the_same(
    browser: Browser, report: Path, full_summary: Summary, tmp_path: Path
) -> None:
    (tmp_path / "plotly.min.js").write_text(get_plotlyjs(), "utf-8")
    light = tmp_path / "light.html"
    light.write_text(render_html(full_summary, "plotly.min.js"), "utf-8")
    drawn = []
    for path in (report, light):
        with browser.new_context(viewport=DESKTOP) as context:
            opened = Opened(context.new_page(), path)
            assert opened.complaints == []
            drawn.append(opened.page.locator(".chart .main-svg").count())
    assert drawn[0] == drawn[1] > 0


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_page_draws_all_its_charts_without_a_network(
    browser: Browser, report: Path, viewport: ViewportSize, scheme: str
) -> None:
    page = browser.new_page(viewport=viewport, color_scheme=scheme)  # type: ignore[arg-type]
    opened = Opened(page, report)
    assert opened.requests == [report.as_uri()]
    assert opened.complaints == []
    # Two figures for each of the four settings, and processor use of the one that is chosen.
    assert page.locator(".chart:visible").count() == 9
    assert page.locator(".chart:visible .main-svg >> nth=0").count() == 1
    drawn = page.evaluate(
        "[...document.querySelectorAll('.chart')].filter(c => c.querySelector('.main-svg')).length"
    )
    assert drawn == 9
    page.close()


@pytest.mark.parametrize("width", [320, 390, 768, 1200])
def test_the_page_never_scrolls_sideways(browser: Browser, report: Path, width: int) -> None:
    page = browser.new_page(viewport=ViewportSize(width=width, height=800))
    Opened(page, report)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.close()


@pytest.fixture(scope="session")
def made_report(quick_summary: Summary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_html(with_data(quick_summary)), "utf-8")
    return path


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_page_of_another_kind_draws_its_own_figures(
    browser: Browser, made_report: Path, viewport: ViewportSize
) -> None:
    page = browser.new_page(viewport=viewport)
    opened = Opened(page, made_report)
    assert opened.requests == [made_report.as_uri()]
    assert opened.complaints == []
    drawn = page.evaluate(
        "[...document.querySelectorAll('.chart')].filter(c => c.querySelector('.main-svg')).length"
    )
    assert drawn == page.locator(".chart").count() == 5
    assert page.locator("section.made details table").count() == 5
    assert page.locator("#made-sweep .yaxislayer-above, #made-sweep .y2tick").count() > 0
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
    page.close()


def test_colours_follow_the_readers_choice(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport=DESKTOP, color_scheme="light")
    Opened(page, report)

    def colours() -> tuple[str, str]:
        found = page.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('.chart .ytick text')).fill]"
        )
        return found[0], found[1]

    light = colours()
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(300)
    dark = colours()
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    page.close()


def test_processor_use_can_be_chosen_by_setting(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport=DESKTOP)
    Opened(page, report)
    assert page.locator(".cpu-setting:visible").get_attribute("data-setting") == "setting-1"
    page.select_option("#cpu-setting", "setting-3")
    assert page.locator(".cpu-setting:visible").get_attribute("data-setting") == "setting-3"
    page.wait_for_selector("#setting-3-cpu .main-svg")
    page.close()


def test_the_page_prints(browser: Browser, report: Path, tmp_path: Path) -> None:
    page = browser.new_page(viewport=DESKTOP, color_scheme="dark")
    Opened(page, report)
    page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    page.emulate_media(media="print")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    page.close()


def test_nothing_of_a_hostile_server_runs(browser: Browser, tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)><b>bold</b>"
    contents = made_run(World(software=hostile), quick=True)
    target = replace(contents.environment.target, software=hostile, backend=hostile)
    environment = replace(contents.environment, target=target, warnings=(hostile,))
    path = tmp_path / "report.html"
    path.write_text(render_html(summarise(replace(contents, environment=environment))), "utf-8")
    page = browser.new_page(viewport=DESKTOP)
    opened = Opened(page, path)
    assert opened.complaints == []
    assert page.locator("img").count() == 0
    assert page.get_by_text(hostile, exact=False).count() >= 2
    page.close()
