"""The columns of a table that fit on a phone, a tablet, a desktop, a sheet of paper.

Columns are in the order of their importance. Columns that do not fit appear on a click on the row.
"""

from collections.abc import Sequence

# The width available to a table, in pixels, on pages of 390, 768 and 1,280 pixels, and on A4, where
# letters are smaller.
_PAGES = (330, 664, 940)
_PAPER = 800

# The reach of a column that no page shows.
NEVER = len(_PAGES) + 1

# Widths in pixels: a character of a cell's first line, of its further lines, of a heading; the
# padding of a cell.
_TEXT = 8.7
_SMALL = 7.6
_HEAD = 7.4
_FRAME = 18.0

# The button of a row stands in its first cell, which may fold its text to this width on a phone.
_BUTTON = 24.0
_FOLDED = 190.0
_WORDS = 200.0

Content = tuple[str, Sequence[tuple[str, ...]]]


def reaches(columns: Sequence[Content | None]) -> list[tuple[int, bool]]:
    """For each column, the narrowest page that shows it (1 to 3, or NEVER), and whether paper does.

    None stands for a column that is never shown. The first column is always shown.
    """
    limits = (*_PAGES, _PAPER)
    left = [float(limit) for limit in limits]
    found: list[tuple[int, bool]] = []
    for index, column in enumerate(columns):
        if column is None:
            found.append((NEVER, False))
            continue
        width = _width(*column)
        for place in range(len(limits)):
            left[place] -= min(width, _FOLDED if place == 0 else _WORDS)
            left[place] -= _BUTTON if index == 0 else 0.0
        # After the first column that does not fit, no less important column is shown, either.
        fits = [index == 0 or room >= 0 for room in left]
        reach = next((place + 1 for place, fit in enumerate(fits[:-1]) if fit), NEVER)
        found.append((reach, fits[-1]))
    return found


def _width(head: str, cells: Sequence[tuple[str, ...]]) -> float:
    """The width of a column in which only the heading is folded."""
    longest = max((len(word) for word in head.split()), default=0) * _HEAD
    for lines in cells:
        for index, line in enumerate(lines):
            longest = max(longest, len(line) * (_TEXT if index == 0 else _SMALL))
    return longest + _FRAME
