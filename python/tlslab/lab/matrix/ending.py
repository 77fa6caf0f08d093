"""The end of a run in blocks: nothing is open any more, or the time is over."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tlslab.analysis import open_cells as rule
from tlslab.analysis.pilot import Pilot, pilot
from tlslab.domain.experiment import Experiment
from tlslab.domain.plan import Plan, PlannedTrial
from tlslab.domain.run import Environment, RunContents
from tlslab.domain.stopping import SHORTEST, Forecast, Stopping
from tlslab.domain.trial import Trial
from tlslab.domain.wording import counted

# The cells that are still open after a block, by the rule of a kind of experiment.
StillOpen = Callable[[RunContents, Stopping, int], frozenset[str]]


@dataclass
class SettledOrOver:
    """Applies the rule of the analysis before each block, and keeps to the time budget.

    `contents` makes a run from its trials. A block starts only if, at the mean length of the trials
    so far, it ends within the budget; the first blocks are always run. `still_open` is the rule of
    the kind of experiment.
    """

    stopping: Stopping
    plan: Plan
    contents: Callable[[Sequence[Trial]], RunContents]
    now: Callable[[], float] = time.monotonic
    still_open: StillOpen = rule.still_open
    _begun: float | None = field(default=None, init=False)
    _here: int = field(default=0, init=False)
    _over: bool = field(default=False, init=False)
    _pilot: Pilot | None = field(default=None, init=False)
    _forecast: bool = field(default=False, init=False)

    def cells(self, trials: Sequence[Trial], block: int) -> frozenset[str]:
        """The cells of the block."""
        if self._begun is None:
            self._begun, self._here = self.now(), len(trials)
        going = self.still_open(self.contents(trials), self.stopping, block)
        if block >= self.stopping.at_least and going and self._too_long(trials, len(going)):
            self._over = True
        return frozenset() if self._over else going

    def length(self, trials: Sequence[Trial], planned: PlannedTrial) -> float:
        """The share of its windows for a trial: short in the pilot, later as the pilot showed."""
        if not self.stopping.pilot:
            return 1.0
        if planned.block < self.stopping.pilot:
            return SHORTEST
        found = self._shown(trials)
        return 1.0 if found is None else found.shares().get(planned.cell, 1.0)

    def forecast(self, trials: Sequence[Trial], block: int) -> Forecast | None:
        """The forecast of the run, once: before the first block after the pilot."""
        if self._forecast or not self.stopping.pilot or block < self.stopping.pilot:
            return None
        self._forecast = True
        found = self._shown(trials)
        return None if found is None else found.forecast(block, self.plan.blocks)

    def _shown(self, trials: Sequence[Trial]) -> Pilot | None:
        """The result of the pilot; later trials do not change it."""
        if self._pilot is None:
            experiment = self.contents(()).experiment
            self._pilot = pilot(
                trials, self.stopping, experiment.workload, self.plan, experiment.baseline
            )
        return self._pilot

    def reason(self, block: int) -> str:
        """The reason that the other cells are left out of the block."""
        if self._over:
            return f"the time is over after {counted(block, 'block')}"
        return f"settled after {counted(block, 'block')}"

    def _too_long(self, trials: Sequence[Trial], cells: int) -> bool:
        budget, done = self.stopping.budget_s, len(trials) - self._here
        if budget is None or self._begun is None or done <= 0:
            return False
        passed = self.now() - self._begun
        return passed + cells * passed / done > budget


def ending_of(
    experiment: Experiment,
    plan: Plan,
    environment: Environment,
    still_open: StillOpen = rule.still_open,
) -> SettledOrOver | None:
    """The rule by which the run may end early; None if it makes all its blocks."""
    if experiment.stopping is None:
        return None

    def contents(trials: Sequence[Trial]) -> RunContents:
        return RunContents(experiment, plan, environment, tuple(trials))

    return SettledOrOver(experiment.stopping, plan, contents, still_open=still_open)
