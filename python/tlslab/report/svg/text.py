"""Texts of a chart: numbers, names of suites; their widths, folded and shortened to fit.

The font is not known when the page is made. The widths are those of DejaVu Sans, which is as wide
as Verdana and wider than the other fonts of `charts.css`: a text takes less room than is reserved.
"""

import math
import re
import unicodedata

from markupsafe import Markup

from tlslab.domain.names import find_suite
from tlslab.domain.wording import figure
from tlslab.report.svg.markup import joined, tag

# The size of all texts, and the line height of several lines, in pixels (charts.css).
SIZE = 12
LINE = 15

# The highest point of letters, above the base line, in pixels.
ASCENT = 11

# Widths of the characters from the space to `~`, in hundredths of the size.
_ASCII = (
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79,
    61, 79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64,
    64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
)  # fmt: skip
_LATIN = 85
_OTHER = 110
_WIDE = 140
_SIGNS = {"–": 50, "·": 32, "…": 100, "≥": 84, "×": 84, "µ": 64} | dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹", 41)

# The end of a shortened text takes at most this share of its room.
_TAIL = 0.5

# A line may end after these.
_PIECES = re.compile(r"[^\s,/_.:=-]*[\s,/_.:=-]+|[^\s,/_.:=-]+")

# Prefixes of large numbers.
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"))
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

# Beyond these, a power of ten is shorter than digits.
_LARGE = 1e15
_SMALL = 1e-4

# Possible OpenSSL names of suites within a text.
_OPENSSL = re.compile(r"\b[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+\b")


def value_text(value: float) -> str:
    """A value with three significant digits: `3,412`, `0.034`, `5.2 M`, `3.1·10⁻⁵`."""
    size = abs(value)
    if size == 0 or 1e-3 <= size < 1e6:
        return figure(value)
    return _short(value, 3)


def tick_text(value: float, step: float) -> str:
    """A tick's value with the digits that distinguish it from its neighbours, `step` away."""
    size = abs(value)
    if size >= 1e6 or 0 < size < 1e-3:
        return _short(value, max(1, _exponent(value) - _exponent(step) + 2))
    decimals = min(12, max(0, -_exponent(step)))
    if decimals and not _whole(step * 10.0**decimals):
        decimals += 1
    return f"{value:,.{decimals}f}"


def exact(value: float | str) -> str:
    """A value for a script, with seven significant digits."""
    return value if isinstance(value, str) else f"{value:.7g}"


def _short(value: float, digits: int) -> str:
    """The value with a unit prefix or a power of ten, and at most `digits` significant digits."""
    size = abs(value)
    if 1e6 <= size < _LARGE:
        for unit, sign in _UNITS:
            if size >= unit:
                return f"{_trimmed(value / unit, digits)} {sign}"
    if _SMALL <= size < 1:
        return f"{value:.{digits - 1 - _exponent(value)}f}".rstrip("0")
    power = _exponent(value)
    head = _trimmed(value / 10.0**power, digits)
    raised = f"10{str(power).translate(_RAISED)}"
    if head in ("1", "-1"):
        return raised if value > 0 else f"-{raised}"
    return f"{head}·{raised}"


def _trimmed(value: float, digits: int) -> str:
    text = f"{value:.{min(12, max(0, digits - 1 - _exponent(value)))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _exponent(value: float) -> int:
    """The power of ten of the first digit, which rounding does not lower."""
    return math.floor(math.log10(abs(value)) + 1e-9) if value else 0


def _whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-6


def in_full(text: str) -> str:
    """The text followed by IANA's names; empty if it has no suite with another name."""
    suites = [find_suite(name) for name in _OPENSSL.findall(text)]
    names = dict.fromkeys(suite.name for suite in suites if suite and suite.name not in text)
    return f"{text} ({', '.join(names)})" if names else ""


def width_of(text: str) -> float:
    """An upper bound of a text's width in pixels."""
    return sum(_hundredths(character) for character in text) * SIZE / 100


def _hundredths(character: str) -> int:
    code = ord(character)
    if 32 <= code < 127:
        return _ASCII[code - 32]
    if character in _SIGNS:
        return _SIGNS[character]
    if unicodedata.combining(character):
        return 0
    if code < 0x250:
        return _LATIN
    return _WIDE if code > 0xFFFF or unicodedata.east_asian_width(character) in "WF" else _OTHER


def shorten(text: str, room: float) -> str:
    """The text if it fits, else its start and its end around an ellipsis."""
    if width_of(text) <= room:
        return text
    tail = _tail(text, room * _TAIL)
    head = text[: len(text) - len(tail)]
    while head and width_of(f"{head.rstrip()}…{tail}") > room:
        head = head[:-1]
    if head or width_of(f"…{tail}") <= room:
        return f"{head.rstrip()}…{tail}"
    return "…" if width_of("…") <= room else ""


def _tail(text: str, room: float) -> str:
    """As much of a text's end as fits, from the start of a piece if a piece fits."""
    pieces = _PIECES.findall(text)
    tail = ""
    for piece in reversed(pieces[1:]):
        if width_of(piece + tail) > room:
            break
        tail = piece + tail
    while not tail.strip() and width_of(text[len(text) - len(tail) - 1 :]) <= room / 2:
        tail = text[len(text) - len(tail) - 1 :]
    return tail


def fold(text: str, room: float, lines: int = 2) -> tuple[str, ...]:
    """The text in at most `lines` lines of at most `room` pixels, the last shortened.

    A line ends at a space if the line is half full there and nothing is lost.
    """
    if width_of(text) <= room or lines == 1:
        return (shorten(text, room),)
    ends = _ends(text, room)
    spaces = [end for end in ends if text[end - 1] == " " and width_of(text[:end]) > room / 2]
    end = spaces[-1] if spaces else ends[-1]
    if end != ends[-1] and not _fits(text[end:], room, lines - 1):
        end = ends[-1]
    first, rest = text[:end].rstrip(), text[end:].strip()
    return (first, *fold(rest, room, lines - 1)) if rest else (first,)


def _fits(text: str, room: float, lines: int) -> bool:
    return "".join(fold(text, room, lines)).replace(" ", "") == text.replace(" ", "")


def _ends(text: str, room: float) -> list[int]:
    """The possible ends of the first line: after pieces, or within a piece that is too long."""
    ends: list[int] = []
    end = 0
    for piece in _PIECES.findall(text):
        end += len(piece)
        if width_of(text[:end].rstrip()) > room:
            break
        ends.append(end)
    if not ends:
        end = 1
        while width_of(text[: end + 1]) <= room:
            end += 1
        ends.append(end)
    return ends


def written(
    lines: tuple[str, ...],
    x: float,
    y: float,
    kind: str | None = None,
    anchor: str | None = None,
    full: str = "",
) -> Markup:
    """Lines as a text element, the first with its base line at `y`.

    `anchor` is `end` or `middle`; `full` is the title for hovering, if the lines are shortened.
    """
    classes = " ".join(name for name in (kind, anchor and anchor[0]) if name) or None
    hover = tag("title", full) if full and full != " ".join(lines) else Markup("")
    if len(lines) == 1:
        return tag("text", lines[0], hover, x=x, y=y, class_=classes)
    spans = (
        tag("tspan", line, x=x, dy=None if index == 0 else float(LINE))
        for index, line in enumerate(lines)
    )
    return tag("text", joined(spans), hover, x=x, y=y, class_=classes)


def below(lines: tuple[str, ...], left: float, right: float, y: float) -> Markup:
    """The title of an axis from `left` to `right`: centred if it fits, else aligned to the left."""
    if max(map(width_of, lines)) <= right - left:
        return written(lines, (left + right) / 2, y, "t", "middle")
    return written(lines, left, y, "t")
