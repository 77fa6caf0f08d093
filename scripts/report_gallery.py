#!/usr/bin/env python3
"""Pictures of report pages: all kinds at three widths, light and dark, and on paper.

    .venv/bin/python scripts/report_gallery.py [--out DIR] [RUN_FOLDER...]

Without run folders: the pages of all kinds that the tests open in a browser, and those of all kept
reports, rendered anew. Needs Chromium and the packages of requirements-dev.lock; writes below
target/report-gallery.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from kept_pages import ROOT, kept_names, kept_page, page_of
from playwright.sync_api import Browser, sync_playwright

sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

WIDTHS = (390, 768, 1280)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
HEIGHT = 800


def known() -> Iterator[tuple[str, str]]:
    """Names and pages of made and of kept runs."""
    from factories.pages import made_pages

    yield from made_pages()
    for name in kept_names():
        yield f"kept-{name}", kept_page(name)


def measured(folders: list[Path]) -> Iterator[tuple[str, str]]:
    """Names and pages of run folders."""
    for folder in folders:
        yield folder.name, page_of(folder)


def shoot(browser: Browser, name: str, page_file: Path, out: Path) -> None:
    """The page at all widths in both schemes, with its folds open on a desktop, and as PDF."""
    for scheme in SCHEMES:
        for width in WIDTHS:
            page = browser.new_page(
                viewport={"width": width, "height": HEIGHT}, color_scheme=scheme
            )
            page.goto(page_file.as_uri())
            page.screenshot(path=out / f"{name}-{width}-{scheme}.png", full_page=True)
            if width == max(WIDTHS):
                page.evaluate("document.querySelectorAll('.fold > details').forEach(d => d.open=1)")
                page.screenshot(path=out / f"{name}-{width}-{scheme}-open.png", full_page=True)
            page.close()
    page = browser.new_page()
    page.goto(page_file.as_uri())
    page.pdf(path=out / f"{name}.pdf", prefer_css_page_size=True, print_background=True)
    page.close()


def main() -> None:
    """Makes all pictures; prints the name and the size of each page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="RUN_FOLDER")
    parser.add_argument("--out", type=Path, default=ROOT / "target/report-gallery")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    pages = measured(given.folders) if given.folders else known()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for name, text in pages:
            path = given.out / f"{name}.html"
            path.write_text(text, "utf-8")
            shoot(browser, name, path.resolve(), given.out)
            sys.stdout.write(f"{name}: {len(text.encode()) / 1000:.0f} KB\n")
        browser.close()


if __name__ == "__main__":
    main()
