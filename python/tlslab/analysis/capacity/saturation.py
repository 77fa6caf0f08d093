"""The capacity of a server: the highest load that meets an objective, from open-loop runs. Pure.

`model.loads` judges the loads; the planner follows the same judgement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tlslab.domain.capacity import CONFIRMING
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import PER_SECOND
from tlslab.domain.loads import STEP, Load, bracket
from tlslab.domain.wording import counted, figure

Bound = Literal["between", "at_least", "below"]


@dataclass(frozen=True)
class Capacity:
    """The highest load, in connections/s, that met an objective, below every load that missed it.

    `between`: `load` met the objective in its `n` runs, `missed` is the lowest load that did not.
    `at_least`: no load missed it; from `late` on the generator was late, which says nothing of the
    server. `below`: no load below `load` met it, `load` missed it. `above`: a load a step above
    `load` that met the objective, too; None if there is none.
    """

    load: Estimate
    bound: Bound
    n: int
    missed: Load | None = None
    above: Load | None = None
    late: Load | None = None

    @property
    def is_confirmed(self) -> bool:
        """Whether enough runs a step above met the objective, too: the value is a lower bound."""
        return self.above is not None and self.above.runs >= CONFIRMING

    @property
    def words(self) -> str:
        """`up to 3,200/s, confirmed by 2 runs at 3,360/s; not at 3,528/s`."""
        load = figure(self.load.value)
        if self.bound == "below":
            return f"at no load that could be judged, from {load}/s on"
        if self.above is None:
            known = "not confirmed by a load 5 % above"
        else:
            runs = f"by {counted(self.above.runs, 'run')} at {figure(self.above.offered)}/s"
            known = f"confirmed {runs}" if self.is_confirmed else f"not confirmed: {runs} only"
        if self.missed is None and self.late is not None:
            late = figure(self.late.offered)
            return f"up to {load}/s, {known}; loads from {late}/s on could not be judged"
        if self.missed is None:
            return f"up to {load}/s, {known}; no load missed it"
        return f"up to {load}/s, {known}; not at {figure(self.missed.offered)}/s"


def capacity(loads: Sequence[Load]) -> Capacity | None:
    """The capacity by all loads; None if none of them shows anything.

    The value is a load that was offered: it has no interval, and is rather too low.
    """
    found = bracket(loads)
    met = found.own or found.best
    if met is not None:
        method = f"the highest load that met the objective, in {counted(met.runs, 'run')}"
        if found.own is not None:
            method = f"the highest load that met the objective, also with {STEP - 1:.0%} more"
        load = Estimate(met.offered, None, None, met.runs, PER_SECOND, method)
        bound: Bound = "between" if found.missed else "at_least"
        above = found.best if found.own else None
        late = next((each for each in loads if each.outcome == "late"), None)
        return Capacity(load, bound, met.runs, found.missed, above, late)
    if found.missed is None:
        return None
    n, method = found.missed.runs, "the lowest load that missed the objective"
    load = Estimate(found.missed.offered, None, None, n, PER_SECOND, method)
    return Capacity(load, "below", n, found.missed)
