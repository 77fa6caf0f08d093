"""The page of a run in progress, in a real browser: it follows the run, fits, and shows its end."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from browser.accessibility import EVERY, faint_texts, obstacles
from browser.geometry import page_faults, text_faults
from browser.opened import SCHEMES, WIDTHS
from factories.live import Watched, pace, totals
from tlslab.domain import events
from tlslab.domain.command_line import Address
from tlslab.report.live import page as live_page
from tlslab.report.live.page import serve_page

ANYWHERE = Address("127.0.0.1", 0)

HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>'

LOST = "its node died, or cannot be reached"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes updates follow one another fast."""
    monkeypatch.setattr(live_page, "EVERY_S", 0.05)


class Opened:
    """A live page, with its requests and its console errors."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.goto(url)

    def tiles(self) -> dict[str, str]:
        """The texts of the tiles, by title."""
        found: list[list[str]] = self.page.eval_on_selector_all(
            "#tiles > div", "all => all.map(tile => [...tile.children].map(c => c.textContent))"
        )
        return dict(found)

    def rows(self, table: str) -> list[list[str]]:
        """The cells of a table."""
        found: list[list[str]] = self.page.eval_on_selector_all(
            f"#{table} tbody tr", "all => all.map(row => [...row.cells].map(c => c.textContent))"
        )
        return found


@contextmanager
def opened(
    browser: Browser, watched: Watched, width: int = 1280, scheme: str = "light"
) -> Iterator[Opened]:
    viewport = ViewportSize(width=width, height=800)
    page = browser.new_page(viewport=viewport, color_scheme=scheme)  # type: ignore[arg-type]
    with serve_page(watched.state, ANYWHERE) as url:
        try:
            yield Opened(page, url)
        finally:
            page.close()


def running(hosts: tuple[str, ...] = ("",), cell: str = "tls=1.3 group=X25519") -> Watched:
    """A run in its second trial."""
    watched = Watched()
    watched.start()
    for _ in range(2):
        for second in range(1, 21):
            watched.clock.now += 1
            for host in hosts:
                said = pace(float(second), totals(1400 * second, second // 4, 9), 1400.0, host)
                watched.state.take(events.Rate(cell, "capacity", said))
        watched.clock.now += 2
    return watched


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_its_reader_and_asks_its_own_server_alone(
    browser: Browser, width: int, scheme: str
) -> None:
    watched = running(("alpha", "beta"))
    watched.state.take(events.GeneratorLost("gamma", LOST))
    with opened(browser, watched, width, scheme) as live:
        live.page.wait_for_selector("#hosts tbody tr .silent")
        assert page_faults(live.page) == []
        assert text_faults(live.page) == []
        assert obstacles(live.page, EVERY) == []
        assert faint_texts(live.page) == []
        assert [request.rpartition("/")[2] for request in live.requests] == ["", "events"]
        assert live.complaints == []


@pytest.mark.capability("the live page in the browser")
def test_it_follows_the_run(browser: Browser) -> None:
    watched = running()
    with opened(browser, watched) as live:
        live.page.wait_for_selector("#hosts tbody tr")
        tiles = live.tiles()
        assert tiles["offered, connections/s"] == "1,470"
        assert tiles["completed, connections/s"] == "1,400"
        assert tiles["response time p99, ms"] == "6.25"
        assert tiles["server, processors"] == "0.83"
        assert tiles["generator, processors"] == "0.56"
        assert tiles["failed or unexpected"] == "10"
        assert live.page.text_content("#turn") == "tls=1.3 group=X25519"
        assert live.rows("outcomes")[1:] == [["completed", "56,000"], ["failed: reset", "10"]]
        # One line per trial; the times of trials do not overlap.
        path = live.page.get_attribute("#figures figure:first-child > svg .c1 path", "d") or ""
        assert path.count("M") == 2
        watched.clock.now += 1
        said = pace(21.0, totals(31_000, 5, 9), 1600.0)
        watched.state.take(events.Rate("tls=1.3 group=X25519", "capacity", said))
        live.page.locator("#tiles").get_by_text("1,600").wait_for()
        assert live.complaints == []


def test_a_screen_reader_has_the_last_minute_as_a_table(browser: Browser) -> None:
    with opened(browser, running()) as live:
        live.page.wait_for_selector("#hosts tbody tr")
        live.page.click(".numbers > summary")
        live.page.wait_for_selector("#seconds tbody tr")
        first, *_ = live.rows("seconds")
        assert first[:4] == ["42", "1,470", "1,400", "9"]
        label = live.page.get_attribute("#figures figure:first-child > svg", "aria-label")
        assert label == "Connections/s: offered 1,470, completed 1,400"


def test_a_silent_host_is_marked_and_percentiles_are_not_added(browser: Browser) -> None:
    watched = running(("alpha", "beta"))
    for second in range(21, 26):
        watched.clock.now += 1
        said = pace(float(second), totals(1400 * second, 0, 9), 1400.0, "beta")
        watched.state.take(events.Rate("tls=1.3 group=X25519", "capacity", said))
    with opened(browser, watched) as live:
        live.page.wait_for_selector("#hosts tbody tr .silent")
        (alpha, *_), (beta, *_) = live.rows("hosts")
        assert alpha.startswith("alpha")
        assert "silent for" in alpha
        assert beta == "beta"
        assert live.page.is_visible("#slowest")


def test_a_lost_host_stays_with_its_reason_until_it_makes_load_again(browser: Browser) -> None:
    watched = running(("alpha", "beta"))
    with opened(browser, watched) as live:
        live.page.wait_for_selector("#hosts tbody tr:nth-child(2)")
        watched.state.take(events.GeneratorLost("beta", LOST))
        live.page.wait_for_selector("#hosts tbody tr .silent")
        alpha, beta = live.rows("hosts")
        assert alpha[0] == "alpha"
        assert beta == [f"betalost: {LOST}", *["–"] * 8]
        assert not live.page.is_visible("#slowest")
        # Between two trials no host makes load.
        watched.state.take(events.TrialStarted(2, "the next"))
        live.page.get_by_text("the next").wait_for()
        assert live.rows("hosts") == [alpha, beta]
        said = pace(1.0, totals(1400, 0, 9), 1400.0, "beta")
        watched.state.take(events.Rate("the next", "capacity", said))
        live.page.wait_for_selector("#hosts tbody tr .silent", state="detached")
        assert [name for name, *_ in live.rows("hosts")] == ["beta"]


def test_it_says_when_the_run_has_ended_and_names_the_report(browser: Browser) -> None:
    watched = running()
    with opened(browser, watched) as live:
        live.page.wait_for_selector("#hosts tbody tr")
        watched.state.finish("done", "runs/x/report.html")
        live.page.wait_for_selector("#ended:not([hidden])")
        assert live.page.text_content("#turn") == "The run has ended: done"
        assert live.page.text_content("#ended code") == "runs/x/report.html"
        assert live.page.text_content("#status") == "The run has ended"
        assert live.tiles()["completed"] == "56,000"
        assert not live.page.is_visible("#lost")
        assert live.requests[1:] == [f"{live.page.url}events"]


def test_it_says_when_tlslab_is_gone(browser: Browser) -> None:
    page = browser.new_page()
    with serve_page(running().state, ANYWHERE) as url:
        page.route("**/events", lambda route: route.abort())
        page.goto(url)
        page.wait_for_selector("#lost:not([hidden])")
    page.close()


def test_text_of_a_server_is_never_markup(browser: Browser) -> None:
    watched = running(cell=HOSTILE)
    said = replace(totals(10), failed={HOSTILE: 3}, arrivals=13)
    watched.state.take(events.RunEnded(HOSTILE, "capacity", events.EngineEnded("", said)))
    watched.state.take(events.Rate(HOSTILE, "capacity", pace(1.0, totals(10), 10.0, HOSTILE)))
    watched.state.take(events.GeneratorLost("gone", HOSTILE))
    with opened(browser, watched) as live:
        live.page.wait_for_selector("#hosts tbody tr")
        assert live.page.text_content("#turn") == HOSTILE
        assert [name for name, *_ in live.rows("hosts")] == [HOSTILE, f"gonelost: {HOSTILE}"]
        assert live.page.locator("main img, main script").count() == 0
        assert live.complaints == []
