"""One host to ask, or several, one after the other."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from tlslab.cli.console import say, show_error
from tlslab.cli.ending import EXIT_INTERRUPTED
from tlslab.domain.errors import TlslabError, UsageError

# The exit codes from the best to the worst.
_FROM_BEST = (0, 4, 1, 3, 2)

_REMEDY = "give a text file with one HOST[:PORT] on each line"

Found = TypeVar("Found")


@dataclass(frozen=True)
class Ended(Generic[Found]):
    """A host's exit code with its reason; `found` is None if the host could not be asked."""

    host: str
    found: Found | None
    reason: str
    code: int
    remedy: str = ""

    def failure(self) -> dict[str, Any]:
        """The host's place in a list in JSON, if it could not be asked."""
        said = {"message": self.reason, "remedy": self.remedy}
        return {"schema": "tlslab.error/1", "target": self.host, **said}


def ask_hosts(
    target: str | None, file: Path | None, ask_one: Callable[[str], Ended[Found]]
) -> tuple[list[Ended[Found]], str, int]:
    """Asks the target, or each host of a file; with the reason and exit code of the worst host.

    A host of a file that cannot be asked is shown, and ends nothing, unless wrong usage is the
    first result. An interruption ends the list. Raises UsageError, and a single target's errors.
    """
    if (target is None) == (file is None):
        raise UsageError(
            "no host" if target is None else "both a host and --hosts",
            "give HOST[:PORT], or --hosts FILE with one on each line",
        )
    if file is None:
        one = ask_one(target or "")
        return [one], one.reason, one.code
    hosts = _read(file)
    ended: list[Ended[Found]] = []
    try:
        for number, host in enumerate(hosts, 1):
            say(f"{number} of {len(hosts)}: {host}")
            try:
                ended.append(ask_one(host))
            except TlslabError as error:
                if isinstance(error, UsageError) and not ended:
                    raise  # Most likely an option, which is wrong for every host.
                show_error(error.message, error.remedy)
                known = (error.message, error.exit_code, error.remedy)
                ended.append(Ended(host, None, *known))
    except KeyboardInterrupt:
        return ended, f"interrupted after {len(ended)} of {len(hosts)} hosts", EXIT_INTERRUPTED
    worst = max((each.code for each in ended), key=_FROM_BEST.index)
    these = [each for each in ended if each.code == worst]
    where = f"{len(these)} of {len(hosts)} hosts, {these[0].host} first"
    if len(these) == len(hosts):
        where = f"all {len(hosts)} hosts"
    return ended, f"{where}: {these[0].reason}", worst


def _read(file: Path) -> tuple[str, ...]:
    """One host per line; `#` starts a comment."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text in UTF-8"
        raise UsageError(f"--hosts {file}: {reason}", _REMEDY) from None
    hosts = tuple(host for line in lines if (host := line.partition("#")[0].strip()))
    if not hosts:
        raise UsageError(f"--hosts {file}: the file names no host", _REMEDY)
    return hosts
