"""The conductor: one loop that runs the trials of a kind's agenda and keeps each at once.

An agenda is a sequence of visits. The trials of a visit follow each other on one bench, which is
one start of a server if the kind has servers. The agenda may base its next visit on the trials kept
so far.
"""

from collections.abc import Iterator, Sequence
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


def carry_out(agenda: Agenda, folder: RunFolder) -> None:
    """Runs the trials that the folder does not hold yet.

    Raises StoreError, CannotRunError, and NoGeneratorError with the command that continues the run.
    """
    for visit in agenda.visits(folder.trials()):
        try:
            with visit.bench() as bench:
                _keep(visit.trials(bench), agenda, folder)
        except NoBenchError as error:
            _keep(visit.failed(error.reason), agenda, folder)
        except NoGeneratorError as error:
            rest = f"finished trials are kept, the rest: {resume_command(folder.path)}"
            raise NoGeneratorError(error.message, f"{error.remedy}; {rest}") from None


def _keep(trials: Iterator[Trial], agenda: Agenda, folder: RunFolder) -> None:
    """Puts each trial into the folder before the next one starts."""
    for trial in trials:
        folder.append(trial)
        if not trial.set_aside:
            agenda.kept(trial)


def interrupted(agenda: Agenda, folder: RunFolder) -> bool:
    """Carries the agenda out; returns whether KeyboardInterrupt ended it early."""
    try:
        carry_out(agenda, folder)
    except KeyboardInterrupt:
        return True
    return False
