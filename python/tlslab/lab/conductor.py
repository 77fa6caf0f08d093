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
from tlslab.lab.request import Early
from tlslab.lab.serving import NoBenchError
from tlslab.lab.sittings import SittingLimit, SittingOverError
from tlslab.lab.store import RunFolder
from tlslab.report import resume_command


class Visit(Protocol):
    """A sequence of trials on one bench."""

    @property
    def block(self) -> int:
        """The block of the trials."""

    def goes_on(self, trial: Trial) -> bool:
        """Whether another trial follows this one, which was kept, on the bench."""

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


def carry_out(agenda: Agenda, folder: RunFolder, limit: SittingLimit | None = None) -> None:
    """Runs the trials that the folder does not hold yet.

    Raises StoreError, CannotRunError, SittingOverError, and NoGeneratorError with the command that
    continues the run.
    """
    limit = limit or SittingLimit(None)
    for visit in agenda.visits(folder.trials()):
        limit.before(visit.block)
        try:
            with visit.bench() as bench:
                for trial in visit.trials(bench):
                    _keep(trial, agenda, folder, limit)
                    if not trial.set_aside and visit.goes_on(trial):
                        limit.before(visit.block)
        except NoBenchError as error:
            for trial in visit.failed(error.reason):
                _keep(trial, agenda, folder, limit)
        except NoGeneratorError as error:
            rest = f"finished trials are kept, the rest: {resume_command(folder.path)}"
            raise NoGeneratorError(error.message, f"{error.remedy}; {rest}") from None


def _keep(trial: Trial, agenda: Agenda, folder: RunFolder, limit: SittingLimit) -> None:
    """Puts a trial into the folder before the next one starts."""
    folder.append(trial)
    if not trial.set_aside:
        agenda.kept(trial)
        limit.ended(trial)


def ended_early(agenda: Agenda, folder: RunFolder, seconds: float | None = None) -> Early:
    """Carries the agenda out in a sitting of N seconds; None: of any length.

    Returns why it ended before all trials were made; empty if it did not.
    """
    try:
        carry_out(agenda, folder, SittingLimit(seconds))
    except KeyboardInterrupt:
        return "interrupted"
    except SittingOverError:
        return "over"
    return ""
