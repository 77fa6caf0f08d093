"""The conductor: one loop that runs the trials of a kind's agenda and keeps each at once.

An agenda is a sequence of visits. The trials of a visit follow each other on one bench, which is
one start of a server if the kind has servers. The agenda may base its next visit on the trials kept
so far.

A sitting may have an end: then no trial is begun that would end after it, by the mean length of the
trials so far; and no block, once one was finished: another machine would begin it again.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from tlslab.domain.errors import NoGeneratorError
from tlslab.domain.trial import Reason, Trial
from tlslab.lab.serving import NoBenchError
from tlslab.lab.store import RunFolder
from tlslab.report import resume_command


class Visit(Protocol):
    """A sequence of trials on one bench."""

    def bench(self) -> AbstractContextManager[Any]:
        """The bench for the trials. Raises NoBenchError, CannotRunError, NoGeneratorError."""

    def trials(self, bench: Any) -> Iterator[Trial]:
        """Runs the trials; each is kept before the next one begins."""

    def failed(self, reason: Reason) -> Iterator[Trial]:
        """The trials that cannot be run, as failed for this reason."""


class Agenda(Protocol):
    """The remaining visits of an experiment, as its kind plans them."""

    def visits(self, earlier: Sequence[Trial]) -> Iterator[Visit]:
        """The remaining visits, given the trials that the folder already holds."""

    def kept(self, trial: Trial) -> None:
        """Notes that a trial is in the folder, and reports it."""


class SittingOverError(Exception):
    """The time of a sitting is over."""


class SittingLimit:
    """The end of a sitting of N seconds that begins now; `sizes`: the number of trials by block."""

    def __init__(
        self,
        seconds: float | None,
        sizes: Counter[int],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._sizes = sizes
        self._now = now
        self._begun = now()
        self._done: Counter[int] = Counter()

    def ended(self, trial: Trial) -> None:
        """Notes the end of a trial. Raises SittingOverError if the next one would end too late."""
        if self._seconds is None:
            return
        self._done[trial.block] += 1
        passed = self._now() - self._begun
        each = passed / self._done.total()
        is_whole = self._done[trial.block] >= self._sizes[trial.block] > 0
        next_size = self._sizes[trial.block + 1] if is_whole else 1
        if passed + each * max(1, next_size) > self._seconds:
            raise SittingOverError


def carry_out(agenda: Agenda, folder: RunFolder, limit: SittingLimit | None = None) -> None:
    """Runs the trials that the folder does not hold yet.

    Raises StoreError, CannotRunError, SittingOverError, and NoGeneratorError with the command that
    continues the run.
    """
    limit = limit or SittingLimit(None, Counter())
    for visit in agenda.visits(folder.trials()):
        try:
            with visit.bench() as bench:
                _keep(visit.trials(bench), agenda, folder, limit)
        except NoBenchError as error:
            _keep(visit.failed(error.reason), agenda, folder, limit)
        except NoGeneratorError as error:
            rest = f"finished trials are kept, the rest: {resume_command(folder.path)}"
            raise NoGeneratorError(error.message, f"{error.remedy}; {rest}") from None


def _keep(trials: Iterator[Trial], agenda: Agenda, folder: RunFolder, limit: SittingLimit) -> None:
    """Puts each trial into the folder before the next one starts."""
    for trial in trials:
        folder.append(trial)
        if not trial.set_aside:
            agenda.kept(trial)
            limit.ended(trial)


def interrupted(agenda: Agenda, folder: RunFolder, seconds: float | None = None) -> bool:
    """Carries the agenda out in a sitting of N seconds; None: of any length.

    Returns whether it was ended before all trials were made, also by KeyboardInterrupt.
    """
    sizes = Counter(planned.block for planned in folder.plan().trials)
    try:
        carry_out(agenda, folder, SittingLimit(seconds, sizes))
    except (KeyboardInterrupt, SittingOverError):
        return True
    return False
