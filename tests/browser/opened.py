"""A report page that is open in a browser, with its requests and its console errors."""

import csv
import io
import os
import shutil
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ElementHandle, Locator, Page, Request, ViewportSize

CHROMIUM = shutil.which("chromium")

# With the value 1, a missing browser is an error: tests may not be skipped.
REQUIRED = "TLSLAB_REQUIRE_BROWSER"

DESKTOP = ViewportSize(width=1280, height=800)
PHONE = ViewportSize(width=390, height=844)
WIDTHS = (390, 768, 1280)
SCHEMES = ("light", "dark")

# The printable area of an A4 sheet within the margins of the page's style, at 96 pixels per inch.
PAPER = ViewportSize(width=657, height=1000)

# A page at its start: folded, without a second run, scrolled to its top.
_AT_ITS_START = """
() => {
    document.querySelectorAll('details').forEach(each => { each.open = false; });
    document.querySelectorAll('.second').forEach(each => each.remove());
    document.querySelector('#status')?.classList.remove('shown');
    scrollTo({top: 0, behavior: 'instant'});
}
"""

WITHOUT_SAVING = """
async button => {
    const made = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
    let file;
    URL.createObjectURL = blob => { file = blob; return made.call(URL, blob); };
    HTMLAnchorElement.prototype.click = () => {};
    button.click();
    URL.createObjectURL = made;
    HTMLAnchorElement.prototype.click = click;
    return await file.text();
}
"""


def lacking() -> str | None:
    """Why this machine has no browser; None if it has one. Raises RuntimeError if it must have."""
    if CHROMIUM is not None:
        return None
    why = "chromium is not installed"
    if os.environ.get(REQUIRED) == "1":
        raise RuntimeError(f"{REQUIRED}=1, but {why}")
    return why


class Opened:
    """An open page; `options` are those of a browser's context."""

    def __init__(self, browser: Browser, path: Path, **options: Any) -> None:
        self.page: Page = browser.new_page(**{"viewport": DESKTOP, **options})
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", self._on_request)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.goto(path.as_uri())

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *_: object) -> None:
        self.page.close()

    def open_all(self) -> None:
        """Opens all folded parts."""
        self.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")

    def as_new(self) -> None:
        """Folds all parts, takes a second run away, and shows the page on a desktop."""
        self.page.evaluate(_AT_ITS_START)
        self.show_on(DESKTOP)

    def show_on(self, viewport: ViewportSize, scheme: str = "light", media: str = "screen") -> None:
        """Shows the page on another screen, or on paper."""
        self.page.set_viewport_size(viewport)
        self.page.emulate_media(color_scheme=scheme, media=media)  # type: ignore[arg-type]

    def drop(self, text: str) -> str:
        """Drops a file on the page; returns the page's message about it."""
        self._await_another()
        self.page.evaluate(
            """text => {
                const data = new DataTransfer();
                data.items.add(new File([text], "summary.json"));
                document.body.dispatchEvent(
                    new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
            }""",
            text,
        )
        return self.said()

    def said(self) -> str:
        """The page's message about the last action."""
        self.page.wait_for_selector("#status.shown")
        return self.page.text_content("#status") or ""

    def saved(self, button: str | Locator) -> list[list[str]]:
        """The table that a button saves."""
        place = self.page.locator(button) if isinstance(button, str) else button
        with self.page.expect_download() as download:
            place.click()
        return _rows(download.value.path().read_bytes().decode("utf-8"))

    def file_of(self, button: ElementHandle) -> list[list[str]]:
        """The table of the file that a button would save. Saving many files takes long."""
        return _rows(button.evaluate(WITHOUT_SAVING))

    def copied(self, button: str | Locator) -> str:
        """The text that a button copies; the context must have the right to read the clipboard."""
        place = self.page.locator(button) if isinstance(button, str) else button
        self._await_another()
        place.click()
        assert self.said().endswith(" copied")
        found: str = self.page.evaluate("navigator.clipboard.readText()")
        return found

    def _await_another(self) -> None:
        """Takes the last message away, so that the next one is not mistaken for it."""
        self.page.evaluate("document.getElementById('status').classList.remove('shown')")

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith(("data:", "blob:")):
            self.requests.append(request.url)


def _rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))
