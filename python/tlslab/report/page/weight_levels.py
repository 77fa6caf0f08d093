"""Levels of content that a page leaves out to be light enough."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class Drawing:
    """The level of detail of figures; by default everything.

    `both_axes`: also on the other kind of axis. `widths`: one drawing for each page width, else a
    single one. `listed`: figures with at most this number of values have a table of their numbers;
    the numbers of others are there for "Copy" and "CSV" alone. `hover`: marks show their values.
    `deployable`: rankings are drawn once more without the levels that policies object to. `trials`:
    single trials are drawn. `places`: the largest number of names drawn.
    """

    both_axes: bool = True
    widths: bool = True
    listed: int | None = None
    hover: bool = True
    deployable: bool = True
    trials: bool = True
    places: int | None = None


WHOLE = Drawing()


@dataclass(frozen=True)
class Thrift:
    """The content that a page leaves out; by default the least that any page does.

    `details`, `main`, `picture`: the drawing of figures in Details, before them, in the answer.
    `uses`, `flames`, `figures`: the largest numbers of drawings of processor use, flame graphs,
    other figures in Details. `cell_rows`, `rows`, `main_rows`: the largest numbers of rows of
    further tables of all cells in Details, of the results and other tables there, of tables before
    Details. `hints`: cells have the methods of their estimates. `hidden`: columns that no page
    width shows are present with intervals in words, without them (the CSV has the numbers), or
    absent.
    """

    details: Drawing = WHOLE
    main: Drawing = WHOLE
    picture: Drawing = WHOLE
    uses: int = 24
    flames: int = 6
    figures: int | None = None
    cell_rows: int | None = None
    rows: int | None = None
    main_rows: int | None = None
    hints: bool = True
    hidden: Literal["whole", "values", "none"] = "whole"

    @property
    def words(self) -> str:
        """The contents that are left out all over the page, and where they are; empty for none."""
        found = list(self._left_out())
        if not found:
            return ""
        return f"To keep this page small, these are in summary.json alone: {'; '.join(found)}."

    def _left_out(self) -> Iterator[str]:
        if not self.hints:
            yield "how each estimate was made (estimates, method)"
        if self.hidden == "values":
            yield "intervals in words of columns behind a click (the CSV has them as numbers)"
        if not self.details.trials:
            yield "single trials of the charts in Details (figures, samples)"


_ONE_AXIS = Drawing(both_axes=False)
_ONE_WIDTH = replace(_ONE_AXIS, widths=False)
_SHORT = replace(_ONE_WIDTH, listed=30)
_BARE = replace(_SHORT, hover=False)
_UNLISTED = replace(_BARE, listed=0, deployable=False)
_PLAIN = replace(_UNLISTED, trials=False)

_LEAN = Thrift(
    details=_UNLISTED,
    main=replace(_BARE, listed=0),
    picture=replace(_ONE_WIDTH, listed=0),
    uses=12,
    flames=0,
    hints=False,
    hidden="values",
)
_FEW = replace(_LEAN, details=_PLAIN, hidden="none")

# From content that nobody misses to content that only an unlimited page has: a page uses the first
# level that makes it light enough. Tables of the analysis are complete except at the last level,
# because documents cite their rows; further tables of all cells repeat the rows of the results.
LEVELS = (
    Thrift(),
    Thrift(details=_ONE_AXIS, flames=3),
    Thrift(details=_ONE_WIDTH, flames=2),
    Thrift(details=_ONE_WIDTH, main=_ONE_AXIS, flames=1),
    Thrift(details=_SHORT, main=_ONE_AXIS, uses=12, flames=1),
    Thrift(details=_BARE, main=_BARE, picture=_ONE_AXIS, uses=12, flames=0),
    _LEAN,
    replace(_FEW, uses=6, figures=8, cell_rows=48),
    replace(_FEW, uses=2, figures=3, cell_rows=16),
    replace(_FEW, uses=0, figures=1, cell_rows=10),
    replace(
        _FEW,
        main=replace(_PLAIN, places=30),
        picture=replace(_LEAN.picture, trials=False, places=40),
        uses=0,
        figures=0,
        cell_rows=10,
        rows=20,
        main_rows=40,
    ),
)
THRIFTIEST = len(LEVELS) - 1
