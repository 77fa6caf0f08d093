"""The judges of accessibility find what is wrong with a page."""

from pathlib import Path

from playwright.sync_api import Browser

from browser.accessibility import EVERY, faint_texts, obstacles
from browser.opened import Opened

PAGE = """<!doctype html><html lang=en><title>A page</title>
<style>
  body { background: #fff; color: #000 }
  .faint { color: #ccc }
  .dark { background: #000; color: #222 }
</style>
<main><h1>A page</h1><img src="data:,">
<p class=faint>one<p class=faint>two<p>black
<div class=dark><p>nearly black on black</p></div>
</main><p>outside the landmarks
<p style="visibility: hidden" class=dark>hidden</p>"""


def test_texts_of_each_look_and_elements_are_judged(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(PAGE, "utf-8")
    with Opened(browser, path) as opened:
        faint = [each.element for each in faint_texts(opened.page)]
        assert faint == ['<p class="faint">one</p>', "<p>nearly black on black</p>"]
        assert [each.rule for each in obstacles(opened.page)] == ["image-alt"]
        every = {each.rule for each in obstacles(opened.page, EVERY)}
        assert every == {"image-alt", "region"}
