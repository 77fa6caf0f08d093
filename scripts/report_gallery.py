#!/usr/bin/env python3
"""Pictures of report pages: all kinds at three widths, light and dark, and on paper.

    .venv/bin/python scripts/report_gallery.py [--out DIR] [RUN_FOLDER...]

Without run folders, pages are made of summaries that the tests use. Needs Chromium and the packages
of requirements-dev.lock; writes below target/report-gallery.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

WIDTHS = (390, 768, 1280)
SCHEMES = ("light", "dark")
HEIGHT = 800


def made() -> Iterator[tuple[str, str]]:
    """Names and pages of made summaries: a ranking, another kind, hard figures, a history."""
    from factories.data import with_data
    from factories.figures import gallery
    from factories.history import made_runs
    from factories.run import made_run
    from tlslab.advice import advised
    from tlslab.analysis import summarise
    from tlslab.analysis.history import history
    from tlslab.report import render_history_html, render_html

    quick = summarise(made_run(quick=True))
    yield "ranking", render_html(advised(summarise(made_run())))
    yield "other", render_html(with_data(quick))
    yield "figures", render_html(replace(with_data(quick), figures=gallery()))
    runs = made_runs({"X25519": [1.0] * 8 + [1.2] * 8})
    yield "history", render_history_html(history(runs))


def measured(folders: list[Path]) -> Iterator[tuple[str, str]]:
    """Names and pages of run folders."""
    from tlslab.lab.results import analyse
    from tlslab.report import render_html
    from tlslab.store import RunFolder

    for folder in folders:
        yield folder.name, render_html(analyse(RunFolder.open(folder)))


def shoot(browser: Browser, name: str, page_file: Path, out: Path) -> None:
    """The page at all widths in both schemes, its folds open on a desktop, and as PDF."""
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
    pages = measured(given.folders) if given.folders else made()
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
