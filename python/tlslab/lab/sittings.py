"""The sittings of a run: when one ends, and what it leaves alone (ADR 0105).

No trial is begun that would end after a sitting's time, by the mean length of its trials; and no
block, by its largest one: another machine would begin it again.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence

from tlslab.domain.run import Environment
from tlslab.domain.trial import Trial


class SittingOverError(Exception):
    """The time of a sitting is over."""


class SittingLimit:
    """A sitting of N seconds that begins now; None: of any length."""

    def __init__(self, seconds: float | None, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._now = now
        self._begun = now()
        self._done: Counter[int] = Counter()
        self._block: int | None = None

    def ended(self, trial: Trial) -> None:
        """Notes the end of a trial."""
        self._done[trial.block] += 1
        self._block = trial.block

    def before(self, block: int) -> None:
        """Before a trial of a block. Raises SittingOverError if it would end too late.

        The first trial of a sitting is begun in any case.
        """
        if self._seconds is None or not self._done:
            return
        passed = self._now() - self._begun
        trials = 1 if block == self._block else max(self._done.values())
        if passed + trials * passed / self._done.total() > self._seconds:
            raise SittingOverError


class OtherMachines:
    """The blocks of earlier trials that were made on another machine than the last sitting's.

    Nothing is added to them; but the last block is begun again if it is not whole.
    """

    def __init__(self, where: Environment, earlier: Sequence[Trial]) -> None:
        machines = where.machines
        here = machines[where.sittings[-1].number]
        self._blocks = {trial.block for trial in earlier if machines[trial.sitting] != here}
        self._last = max((trial.block for trial in earlier), default=0)

    def made(self, block: int) -> bool:
        """Whether the block was made on another machine."""
        return block in self._blocks

    def may_begin_again(self, block: int) -> bool:
        """Whether the block may have been left in the middle."""
        return block == self._last
