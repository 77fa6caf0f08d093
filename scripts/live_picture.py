#!/usr/bin/env python3
"""A picture of the page of --live, with two generators, for docs/several-hosts.md.

    .venv/bin/python scripts/live_picture.py

Loads the reference server on this machine for a few seconds, and writes docs/images/live.png. Needs
Chromium and the packages of requirements-dev.lock.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kept_pages import ROOT
from pictures import write_picture
from playwright.sync_api import sync_playwright

PICTURE = ROOT / "docs/images/live.png"
WIDTH, HEIGHT = 1280, 900

# The load; the charts show enough seconds of it for a line.
LOAD = ("--generators", "2", "--rate", "200", "--arrivals", "poisson", "-c", "64", "-d", "60s")
SHOWN = 25

PROGRAMS = Path(sys.executable).parent


@contextmanager
def program(name: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A program of the package, for the duration of the block."""
    child = subprocess.Popen(
        [str(PROGRAMS / name), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        child.terminate()
        child.communicate()


def live_page(child: subprocess.Popen[str]) -> str:
    """The URL that `tlslab load --live` prints."""
    assert child.stderr is not None
    word = "live page: "
    return next(line for line in child.stderr if line.startswith(word)).removeprefix(word).strip()


def shoot(url: str) -> bytes:
    """The page once it has shown the load for a while, with everything unfolded."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(url)
        page.wait_for_selector("#hosts tbody tr:nth-child(2)")
        page.wait_for_timeout(1000 * SHOWN)
        data = page.screenshot(full_page=True)
        browser.close()
    return data


def main() -> None:
    """Makes the picture."""
    serve = ("--listen", "127.0.0.1:0", "--self-signed", "ecdsa-p256")
    with program("tlslab-serve", *serve) as server:
        assert server.stdout is not None
        url = f"https://{json.loads(server.stdout.readline())['address']}/"
        with program("tlslab", "load", "--live", "--insecure", *LOAD, url) as load:
            write_picture(shoot(live_page(load)), PICTURE)


if __name__ == "__main__":
    main()
