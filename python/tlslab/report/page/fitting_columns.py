"""Which columns of a table fit a phone, a tablet, a desktop, a sheet of paper.

Columns come in the order of their importance. What does not fit is behind a click on the row.
"""

from collections.abc import Sequence

# The room for a table in pixels on pages of 390, 768 and 1,280 pixels, and on A4, where letters are
# smaller.
_PAGES = (330, 664, 940)
_PAPER = 800

# A column of this reach is shown by no page.
NEVER = len(_PAGES) + 1

# A character of a table's text in pixels, of the lines below it, of a head; what a cell has around.
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
    """For each column the narrowest page that shows it (1 to 3, or NEVER), and whether paper does.

    None stands for a column that nothing shows. The first column is shown by all.
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
        # What has no room leaves none to the columns after it, which matter less.
        fits = [index == 0 or room >= 0 for room in left]
        reach = next((place + 1 for place, fit in enumerate(fits[:-1]) if fit), NEVER)
        found.append((reach, fits[-1]))
    return found


def _width(head: str, cells: Sequence[tuple[str, ...]]) -> float:
    """What a column needs where nothing but its head is folded."""
    longest = max((len(word) for word in head.split()), default=0) * _HEAD
    for lines in cells:
        for index, line in enumerate(lines):
            longest = max(longest, len(line) * (_TEXT if index == 0 else _SMALL))
    return longest + _FRAME
