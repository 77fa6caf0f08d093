#!/usr/bin/env python3
"""Pictures of reports as they were at first and as they are today, for docs/gallery.md.

    .venv/bin/python scripts/before_and_after.py [KIND[=PAGE]...]

Writes docs/images/gallery/KIND-before.png and KIND-after.png: the first screen of 1,280 x 900
pixels, at most 150 KB. Before: the first page of docs/reports/KIND in git's history. After: PAGE,
which is a file or a run folder; else the kept report as today's code makes it. The kind readme is
docs/images/report.png. Without arguments: all. Needs Chromium, git's history and the packages of
requirements-dev.lock.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from kept_pages import ROOT, kept_page, page_of
from pictures import write_picture
from playwright.sync_api import Browser, sync_playwright

KINDS = ("groups", "suites", "capacity", "concurrency", "runtimes", "servers")
PICTURES = ROOT / "docs/images/gallery"

# The picture of README.md shows this report: its answer is a sentence about two groups.
README, SHOWN, SHOWN_PICTURE = "readme", "groups-until-settled", ROOT / "docs/images/report.png"

WIDTH, HEIGHT = 1280, 900

# The script that the first pages share; it draws for this long after they are loaded.
SCRIPT = "plotly.min.js"
DRAWING_MS = 2000
LOADING_MS = 300_000


def git(*words: str) -> bytes:
    """The output of a git command."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout


def first_page(kind: str, folder: Path) -> Path:
    """The first page of a kind in git's history, with its script beside its folder."""
    name = f"docs/reports/{kind}/report.html"
    commit = git("log", "--diff-filter=A", "--format=%H", "--", name).split()[-1].decode()
    page = folder / kind / "report.html"
    page.parent.mkdir()
    page.write_bytes(git("show", f"{commit}:{name}"))
    (folder / SCRIPT).write_bytes(git("show", f"{commit}:docs/reports/{SCRIPT}"))
    return page


def todays_page(kind: str, given: str) -> str:
    """The text of a page by today's code."""
    if given:
        path = Path(given)
        return page_of(path) if path.is_dir() else path.read_text("utf-8")
    return kept_page(kind)


def shoot(browser: Browser, page_file: Path, picture: Path, height: int = HEIGHT) -> None:
    """The first screen of a page as a picture with a palette."""
    page = browser.new_page(viewport={"width": WIDTH, "height": height})
    page.goto(page_file.as_uri(), timeout=LOADING_MS)
    page.wait_for_timeout(DRAWING_MS)
    data = page.screenshot()
    page.close()
    write_picture(data, picture)


def main() -> None:
    """Makes the requested pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND[=PAGE]")
    given = dict(each.partition("=")[::2] for each in parser.parse_args().kinds)
    if unknown := set(given) - {*KINDS, README}:
        parser.error(
            f"no such kind: {', '.join(sorted(unknown))}; known: {', '.join((*KINDS, README))}"
        )
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        today = folder / "today.html"
        for kind in given or (*KINDS, README):
            if kind == README:
                today.write_text(kept_page(SHOWN), "utf-8")
                shoot(browser, today, SHOWN_PICTURE, height=1000)
                continue
            shoot(browser, first_page(kind, folder), PICTURES / f"{kind}-before.png")
            today.write_text(todays_page(kind, given.get(kind, "")), "utf-8")
            shoot(browser, today, PICTURES / f"{kind}-after.png")
        browser.close()


if __name__ == "__main__":
    main()
