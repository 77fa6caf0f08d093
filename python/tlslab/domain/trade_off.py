"""Trade-offs between cells, and the probability of each to be the best one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tlslab.domain.estimate import Estimate
from tlslab.domain.wording import percent

# `settled`: one cell is the best. `equal`: the cells that may be the best differ by less than the
# margin of equivalence. `open`: some cells are excluded, between the others nothing is established.
# `cannot_tell`: none is excluded, and they may differ by more. `too_few`: fewer common blocks than
# a probability needs. `not_measured`: no measure of the aim exists for all cells.
Verdict = Literal["settled", "equal", "open", "cannot_tell", "too_few", "not_measured"]

# With these verdicts the measurement does not decide: the order is that of the policies.
UNDECIDED: tuple[Verdict, ...] = ("cannot_tell", "too_few", "not_measured")

# A smaller difference counts as none when cells are compared in every dimension: the value of
# `--until` in the shipped experiments.
TOLERANCE = 0.02


@dataclass(frozen=True)
class Weighed:
    """A cell that may be recommended; `security` is its rank, 0 for the safest.

    `values`: the cell's estimate in each dimension that all cells have. `best`: the probability, by
    dimension, that no other cell is better. `on_front`: the probability that no other cell is as
    good in all dimensions and better in one. With too few blocks `best` is empty and `on_front`
    None.
    """

    cell: str
    security: int
    values: Mapping[str, Estimate]
    best: Mapping[str, float]
    on_front: float | None


@dataclass(frozen=True)
class TradeOffs:
    """Cells that may be recommended, weighed against each other.

    `measure` decides for the aim, empty if none does. `blocks`: the number of blocks that have it,
    and all `dimensions`, for all cells. `order`: the order of preference by the aim. `contenders`:
    the cells that may be the best one (95 %). `may_differ`: the largest difference, as a share,
    that is open between contenders. `unmeasured`: cells without values, last in `order`. `beaten`:
    the cells that the first of `order` is detectably better than by the measure, if the measure
    decides (Holm, all pairs).
    """

    measure: str
    blocks: int
    verdict: Verdict
    dimensions: tuple[str, ...]
    cells: tuple[Weighed, ...]
    contenders: tuple[str, ...]
    order: tuple[str, ...]
    may_differ: float | None = None
    unmeasured: tuple[str, ...] = ()
    beaten: tuple[str, ...] = ()

    @property
    def decided(self) -> bool:
        """Whether the measurement decides the order."""
        return self.verdict not in UNDECIDED

    def cell(self, key: str) -> Weighed | None:
        """The cell with this key; None for one that was not measured."""
        return next((each for each in self.cells if each.cell == key), None)


def probability_words(share: float) -> str:
    """A probability from counted draws, in words: never 0 % nor 100 %."""
    if share > 0.99:
        return "over 99 %"
    return "under 1 %" if share < 0.01 else percent(share)
