"""Small pictures for documents: with a palette, as small as needed.

Module of before_and_after.py and live_picture.py.
"""

import sys
from io import BytesIO
from pathlib import Path

from kept_pages import ROOT
from PIL import Image

MOST_BYTES = 150_000

# The palette shrinks until the picture is small enough.
COLOURS = (256, 128, 64, 32)


def write_picture(data: bytes, picture: Path) -> None:
    """Writes a screenshot as a picture with a palette, and prints its size."""
    drawn = Image.open(BytesIO(data)).convert("RGB")
    for colours in COLOURS:
        packed = BytesIO()
        few = drawn.quantize(colours, dither=Image.Dither.NONE)
        few.save(packed, "PNG", optimize=True)
        if len(packed.getvalue()) <= MOST_BYTES:
            break
    picture.write_bytes(packed.getvalue())
    shown = picture.relative_to(ROOT)
    sys.stdout.write(f"{shown}: {len(packed.getvalue()) / 1000:.0f} KB, {colours} colours\n")
