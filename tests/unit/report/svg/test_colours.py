"""The palette of charts.css is visible on every background, and distinct for the colour-blind."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from factories.figures import gallery
from tlslab.report.svg import draw

Colours = NDArray[np.float64]

CSS = (files("tlslab.report") / "templates" / "charts.css").read_text("utf-8")
BLOCKS = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
SCHEMES = dict(zip(("light", "dark", "print"), BLOCKS, strict=True))

# The pages' backgrounds besides that of charts.
TINTS = {"light": "#eef4f8", "dark": "#1b2730", "print": "#f2f5f7"}

# Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision
# Deficiency (2009), severity 1: protanopia, deuteranopia, tritanopia; on linear RGB.
SIGHTS = {
    "usual": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                            [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                              [-0.011820, 0.042940, 0.968881]]),
    "tritanopia": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                            [0.004733, 0.691367, 0.303900]]),
}  # fmt: skip

# Ottosson: A perceptual color space for image processing (2020).
_CONES = np.array([[0.4122214708, 0.5363325363, 0.0514459929],
                   [0.2119034982, 0.6806995451, 0.1073969566],
                   [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
_LAB = np.array([[0.2104542553, 0.7936177850, -0.0040720468],
                 [1.9779984951, -2.4285922050, 0.4505937099],
                 [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip


def linear(colour: str) -> Colours:
    full = colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])
    parts = np.array([int(full[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(linear(colour) @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def seen(colour: str, sight: str) -> Colours:
    light = np.clip(SIGHTS[sight] @ linear(colour), 0, 1)
    return _LAB @ np.cbrt(_CONES @ light)


def properties(scheme: str) -> dict[str, str]:
    return dict(re.findall(r"--chart-([\w]+): (#[0-9a-f]{3,6});", SCHEMES[scheme]))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_marks_and_texts_stand_out_from_the_ground(scheme: str) -> None:
    colours = properties(scheme)
    for ground in (colours["paper"], TINTS[scheme]):
        for name in (*map(str, range(1, 9)), "muted", "sign"):
            assert contrast(colours[name], ground) >= 3, (name, ground)
        for name in ("ink", "soft"):
            assert contrast(colours[name], ground) >= 4.5, (name, ground)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("sight", SIGHTS)
def test_series_are_told_apart(scheme: str, sight: str) -> None:
    colours = properties(scheme)
    for one, other in combinations(map(str, range(1, 9)), 2):
        distance = np.linalg.norm(seen(colours[one], sight) - seen(colours[other], sight))
        assert distance >= 0.1, (one, other)


def test_every_class_of_a_chart_has_a_rule() -> None:
    classes = {
        name
        for figure in gallery()
        for names in re.findall(r'class="([^"]*)"', draw(figure, 700))
        for name in names.split()
    }
    known = set(re.findall(r"\.([a-z]+\d?)\b", CSS))
    assert classes - {"frame", "keys"} <= known
