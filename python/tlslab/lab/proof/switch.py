"""A live server, switched between its present configuration and the candidate by two commands."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tlslab.domain import events
from tlslab.domain.command_line import READY_S, SETTLE_S, TIMEOUT_S
from tlslab.domain.configuration import BASELINE, CANDIDATE
from tlslab.domain.errors import CannotRunError
from tlslab.servers.external import HookError, command_words, run_command
from tlslab.servers.reverter import Command, Reverter

# The number of consecutive right answers needed: old and new processes may both answer at first.
RIGHT_ANSWERS = 3
ASK_EVERY_S = 0.25


@dataclass
class Switch:
    """Switches the server; the caller ends with `finish`.

    `wrong` returns the server's difference from a configuration, None if there is none. At first
    the server has the baseline configuration, whatever that is.
    """

    apply: Command
    back: Command
    wrong: Callable[[str], str | None]
    observer: events.Observer
    ready_s: float = READY_S
    settle_s: float = SETTLE_S
    _reverter: Reverter | None = field(default=None, init=False)
    # Whether the server was checked since it was last reverted.
    _asked: bool = field(default=True, init=False)

    def to(self, name: str) -> None:
        """Brings the server to a configuration. Raises CannotRunError, RevertError."""
        has = BASELINE if self._reverter is None else CANDIDATE
        if name == has:
            return
        if name == BASELINE:
            self.revert()
        else:
            self._apply()
        self._await(name)

    def _apply(self) -> None:
        # The process that reverts is started first, so that the lab's death cannot come between.
        self._reverter = Reverter(self.back, self.apply.timeout_s)
        named = self._reverter.applying
        try:
            run_command(self.apply.words, self.apply.timeout_s, "--apply", {}, named)
        except HookError as error:
            raise CannotRunError(error.message, "mend the command: nothing was measured") from None
        self._reverter.applied()
        self.observer(events.Switched(CANDIDATE, self.apply.shown))

    def finish(self) -> None:
        """Reverts the server and checks that it has the baseline again. Raises CannotRunError."""
        self.revert()
        if not self._asked:
            try:
                self._await(BASELINE)
            except CannotRunError as error:
                raise CannotRunError(
                    f"THE SERVER IS NOT AS IT WAS, although the revert ended with 0: "
                    f"{error.message}",
                    f"look at the server; the command was: {self.back.shown}",
                ) from None

    def revert(self) -> None:
        """Reverts the server if it has been changed. Raises RevertError."""
        reverter, self._reverter = self._reverter, None
        if reverter is None:
            return
        reverted = events.Switched(BASELINE, self.back.shown)
        self._asked = False
        try:
            reverter.revert()
        except KeyboardInterrupt:
            self.observer(reverted)
            raise
        self.observer(reverted)

    def _await(self, name: str) -> None:
        """Asks the server until several answers in a row are right. Raises CannotRunError."""
        self._asked = True
        time.sleep(self.settle_s)
        deadline = time.monotonic() + self.ready_s
        right = 0
        while right < RIGHT_ANSWERS:
            words = self.wrong(name)
            right = right + 1 if words is None else 0
            if words is not None and time.monotonic() >= deadline:
                raise CannotRunError(
                    f"{self.ready_s:g} s after the command the server is not as the {name}: {words}"
                )
            time.sleep(ASK_EVERY_S)


def command_of(text: str, option: str, timeout_s: float = TIMEOUT_S) -> Command:
    """The command that a user wrote, split as a shell would. Raises UsageError."""
    return Command(command_words(text, option), timeout_s)
