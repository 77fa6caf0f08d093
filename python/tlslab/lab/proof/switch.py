"""A live server, switched between its present configuration and the candidate by two commands."""

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tlslab.lab import events
from tlslab.model.configuration import BASELINE, CANDIDATE
from tlslab.model.errors import CannotRunError, UsageError
from tlslab.model.hook_times import READY_S, SETTLE_S, TIMEOUT_S
from tlslab.targets.external import HookError, run_command
from tlslab.targets.reverter import Command, Reverter

# So often it must answer as it should, in a row: old and new processes may both answer at first.
RIGHT_ANSWERS = 3
ASK_EVERY_S = 0.25


@dataclass
class Switch:
    """Which configuration the server has; whoever ends calls `finish`.

    `wrong` says what is wrong with the server for a configuration, None when it is as it should be.
    The server is the baseline's at first: that is what it is called.
    """

    apply: Command
    back: Command
    wrong: Callable[[str], str | None]
    observer: events.Observer
    ready_s: float = READY_S
    settle_s: float = SETTLE_S
    _reverter: Reverter | None = field(default=None, init=False)
    # Whether the server was asked since it was last reverted.
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
        # First who reverts, then what there is to revert.
        self._reverter = Reverter(self.back, self.apply.timeout_s)
        named = self._reverter.applying
        try:
            run_command(self.apply.words, self.apply.timeout_s, "--apply", {}, named)
        except HookError as error:
            raise CannotRunError(error.message, "mend the command: nothing was measured") from None
        self._reverter.applied()
        self.observer(events.Switched(CANDIDATE, self.apply.shown))

    def finish(self) -> None:
        """Gives the server back, and asks whether it is the baseline's. Raises CannotRunError."""
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
        """Gives the server back as it was; nothing where it has not been changed. RevertError."""
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
        """Asks the server until it is lastingly as it should be. Raises CannotRunError."""
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
    """The command that a user has written, split as a shell would. Raises UsageError."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{option}: {error}: {text}") from None
    if not words:
        raise UsageError(f"{option}: the command is empty", "without it the server stays as it is")
    return Command(words, timeout_s)
