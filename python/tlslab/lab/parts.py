"""What a run needs beside tlslab and may be missing: servers, the benchmarks, a signing node.

In a checkout scripts build or fetch each of them; elsewhere the user has to.
"""

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tlslab.lab.benchmark.jmh import has_jar
from tlslab.lab.request import Request
from tlslab.model.benchmark import ENGINE
from tlslab.model.deployment import NO_FRONT
from tlslab.model.errors import CannotRunError
from tlslab.model.experiment import BENCHMARK
from tlslab.planning import make_cells
from tlslab.targets import MANAGED
from tlslab.targets.guard import bound
from tlslab.targets.signer import find_signer

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"

# Downloads on a slow line, and a compiler on a slow machine.
BUILD_S = 3600.0

_LAST_LINES = 12

# The program by which scripts/install-debian.sh knows a server.
_PROGRAMS = {
    "nginx": "nginx",
    "apache": "apache2",
    "haproxy": "haproxy",
    "caddy": "caddy",
    "node": "node",
}


@dataclass(frozen=True)
class Part:
    """Something that is missing: `words` say what it is, `scripts` how it comes, in their order."""

    name: str
    words: str
    minutes: int
    scripts: tuple[tuple[str, ...], ...]

    @property
    def commands(self) -> str:
        """What to type to have it."""
        return " && ".join(shlex.join((_typed(line[0]), *line[1:])) for line in self.scripts)


def _typed(script: str) -> str:
    """A script as it is typed where the user is."""
    path = SCRIPTS / script
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def missing_parts(request: Request) -> tuple[Part, ...]:
    """What a run of the request needs, has not got, and this checkout can make; none elsewhere."""
    if not (SCRIPTS / "build-java.sh").is_file():
        return ()
    if request.experiment.kind == BENCHMARK:
        return tuple(_of_benchmarks(request))
    return () if request.external else tuple(_servers(request))


def _servers(request: Request) -> Iterator[Part]:
    cells = make_cells(request.experiment, request.targets[0])[0]
    deployments = [cell.deployment for cell in cells if cell.deployment]
    names = [name for each in deployments for name in (each.server, each.front)]
    for name in dict.fromkeys(names):
        if name == NO_FRONT or name not in MANAGED or MANAGED[name].installed:
            continue
        if name == "tomcat":
            yield Part("tomcat", "Tomcat with its OpenSSL library", 1, (("install-java.sh",),))
        elif name in _PROGRAMS:
            scripts = (("install-debian.sh", "only", _PROGRAMS[name]),)
            yield Part(name, f"the Debian package of {name}", 1, scripts)


def _of_benchmarks(request: Request) -> Iterator[Part]:
    levels = request.experiment.levels("runtime")
    if any(level != ENGINE for level in levels) and not has_jar():
        needed = ("install-debian.sh", "only", "mvn", "javac")
        yield Part("benchmarks.jar", "the benchmarks in Java", 2, (needed, ("build-java.sh",)))
    keys = request.experiment.levels("keys")
    if "cluster" in keys and find_signer() is None:
        yield Part("tlslab-signer", "the signing node (needs Go 1.24)", 3, (("build-signer.sh",),))
    if "pkcs11" in keys and not (shutil.which("softhsm2-util") and shutil.which("pkcs11-tool")):
        needed = ("install-debian.sh", "only", "softhsm2-util", "pkcs11-tool")
        yield Part("softhsm2", "the Debian packages softhsm2 and opensc", 1, (needed,))


def make(part: Part, report: Callable[[str], None]) -> None:
    """Builds or fetches a part. Raises CannotRunError with the last words of what failed."""
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
    """Runs a script to its end; it ends with the lab, and after an hour."""
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
