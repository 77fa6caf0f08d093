"""Builds or fetches the missing parts of a run: after a question in a terminal, or with `--yes`."""

import shlex
import sys
import time

import typer

from tlslab.cli.console import err, say
from tlslab.domain.errors import CannotRunError
from tlslab.lab.experiment_run import missing_parts
from tlslab.lab.request import Request
from tlslab.lab.required_parts import Part, make


def provide(request: Request, yes: bool) -> None:
    """Makes the missing parts of a run. Raises CannotRunError if that is refused or impossible."""
    missing = missing_parts(request)
    if not missing:
        return
    for part in missing:
        say(f"missing: {part.name}, {part.words}: {part.commands}")
    if not yes and not _agreed(missing):
        names = ", ".join(part.name for part in missing)
        again = shlex.join(["tlslab", *sys.argv[1:], "--yes"])
        by_hand = " && ".join(part.commands for part in missing)
        raise CannotRunError(
            f"missing for this run: {names}",
            f"{again} has tlslab build or fetch it; or run it yourself: {by_hand}; or leave out "
            "what needs it with --target or --set",
        )
    for part in missing:
        began = time.monotonic()
        say(f"{part.name}: about {part.minutes} min")
        make(part, say)
        say(f"{part.name}: done in {time.monotonic() - began:.0f} s")


def _agreed(missing: tuple[Part, ...]) -> bool:
    """Whether the user, if there is one, agrees."""
    if not (sys.stdin.isatty() and err.is_terminal):
        return False
    minutes = sum(part.minutes for part in missing)
    return typer.confirm(f"build or fetch it now (about {minutes} min)?", default=True, err=True)
