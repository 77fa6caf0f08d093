#!/usr/bin/env python3
"""Pictures of kept reports for documents: the first screen of a page, with a palette.

    .venv/bin/python scripts/pictures.py [NAME...]

Writes docs/images/NAME.png. Without names: those that docs/reports/README.md shows. Needs Chromium
and the packages of requirements-dev.lock.
"""

import shutil
import sys
from io import BytesIO

from kept_reports import ROOT, kept_page
from PIL import Image
from playwright.sync_api import sync_playwright

SHOWN = ("groups-until-settled", "suites-node", "capacity")
WIDTH, HEIGHT = 1280, 900
MOST_BYTES = 150_000

# The palette shrinks until the picture is small enough.
COLOURS = (256, 128, 64, 32)


def small_png(data: bytes) -> bytes:
    """A screenshot as a PNG with a palette."""
    drawn = Image.open(BytesIO(data)).convert("RGB")
    for colours in COLOURS:
        packed = BytesIO()
        drawn.quantize(colours, dither=Image.Dither.NONE).save(packed, "PNG", optimize=True)
        if len(packed.getvalue()) <= MOST_BYTES:
            break
    return packed.getvalue()


def main(names: list[str]) -> None:
    """Makes the pictures of the named reports."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for name in names:
            page.set_content(kept_page(name))
            picture = ROOT / f"docs/images/{name}.png"
            picture.write_bytes(small_png(page.screenshot()))
            sys.stdout.write(f"{picture.relative_to(ROOT)}\n")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:] or list(SHOWN))
