"""Additional parts that a run needs and that may be missing: servers, benchmarks, a signing node.

In a checkout, scripts build or fetch each of them; elsewhere the user has to.
"""

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tlslab.domain.errors import CannotRunError
from tlslab.experiment import make_cells
from tlslab.lab.request import Request
from tlslab.servers import MANAGED
from tlslab.servers.guard import bound

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"

# Enough for downloads on a slow line, and for a compiler on a slow machine.
BUILD_S = 3600.0

_LAST_LINES = 12

# The name of each server's program, which scripts/install-debian.sh takes.
_PROGRAMS = {
    "nginx": "nginx",
    "apache": "apache2",
    "haproxy": "haproxy",
    "caddy": "caddy",
    "node": "node",
}


@dataclass(frozen=True)
class MissingPart:
    """A missing part: `words` describe it, `scripts` build or fetch it, in this order."""

    name: str
    words: str
    minutes: int
    scripts: tuple[tuple[str, ...], ...]

    @property
    def commands(self) -> str:
        """The commands that build or fetch the part, as a user types them."""
        return " && ".join(shlex.join((_typed(line[0]), *line[1:])) for line in self.scripts)


def _typed(script: str) -> str:
    """The path of a script, relative to the working directory where possible."""
    path = SCRIPTS / script
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def in_checkout() -> bool:
    """Whether the scripts that make the parts exist here."""
    return (SCRIPTS / "build-java.sh").is_file()


def server_parts(request: Request) -> Iterator[MissingPart]:
    """The missing ones among the servers that the lab starts for a request."""
    if request.external:
        return
    cells = make_cells(request.experiment, request.targets[0])[0]
    deployments = [cell.deployment for cell in cells if cell.deployment]
    fronts = [each.before for each in deployments]
    names = [each.server for each in deployments]
    names += [front.target for front in fronts if front is not None]
    for name in dict.fromkeys(names):
        if name not in MANAGED or MANAGED[name].installed:
            continue
        if name == "tomcat":
            yield MissingPart(
                "tomcat", "Tomcat with its OpenSSL library", 1, (("install-java.sh",),)
            )
        elif name in _PROGRAMS:
            scripts = (("install-debian.sh", "only", _PROGRAMS[name]),)
            yield MissingPart(name, f"the Debian package of {name}", 1, scripts)


def make(part: MissingPart, report: Callable[[str], None]) -> None:
    """Builds or fetches a part. Raises CannotRunError with the last lines of the failed script."""
    for name, *arguments in part.scripts:
        with tempfile.TemporaryFile() as log:
            code = _run([str(SCRIPTS / name), *arguments], log.fileno())
            if code != 0:
                log.seek(max(0, log.seek(0, 2) - (1 << 16)))
                words = log.read().decode("utf-8", "replace").strip().splitlines()
                for line in words[-_LAST_LINES:]:
                    report(f"  {line}")
                raise CannotRunError(
                    f"{part.name} could not be made: scripts/{name} ended with {code}, see above",
                    f"mend that, then: {part.commands}; or leave out what needs it",
                )


def _run(line: list[str], log: int) -> int:
    """Runs a script to its end; the script ends with the lab, and after an hour."""
    child = subprocess.Popen(
        [*bound("TERM"), *line], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
    )
    try:
        return child.wait(BUILD_S)
    except subprocess.TimeoutExpired:
        return 124
    finally:
        if child.poll() is None:
            child.terminate()
            child.wait()
