"""The Java installations of this machine."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlslab.domain.errors import UsageError
from tlslab.domain.factors import FACTORS

ROOT = Path("/usr/lib/jvm")

# The level of the factor `jdk` for all installations.
ALL = "jdk"
START_S = 20.0

# The largest number of quoted characters of a JVM's output.
WORDS = 400

# A JVM takes options from these variables: runs would depend on the user's environment.
PICKED_UP = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


@dataclass(frozen=True)
class Jdk:
    """A working Java installation.

    `home`: its real folder, with `bin/java`. `version`: as it prints it (`17.0.15`, `1.8.0_392`).
    `vendor`: its builder, empty if unknown.
    """

    home: Path
    version: str
    vendor: str = ""

    @property
    def java(self) -> Path:
        """The program that starts its JVM."""
        return self.home / "bin" / "java"

    @property
    def feature(self) -> int:
        """The feature release: 17 of `17.0.15`, 8 of `1.8.0_392`; 0 if it cannot be read."""
        found = re.match(r"(?:1\.)?(\d+)", self.version)
        return int(found[1]) if found else 0

    @property
    def label(self) -> str:
        """Its name in a report: `JDK 17.0.15 Debian`."""
        return f"JDK {self.version} {self.vendor}".rstrip()


@dataclass(frozen=True)
class BrokenJdk:
    """A Java installation that does not start; `reason` is in its own words."""

    home: Path
    reason: str


@dataclass(frozen=True)
class Jdks:
    """The Java installations of a machine, by feature release, then by folder."""

    found: tuple[Jdk, ...]
    broken: tuple[BrokenJdk, ...]


def find_jdks(
    given: Sequence[Path] = (),
    environment: Mapping[str, str] = os.environ,
    root: Path = ROOT,
) -> Jdks:
    """All installations below `root`, of JAVA_HOME, of PATH and in the given folders.

    Each is started once; of several links to the same folder only one counts. A given folder
    without Java, or with a Java that does not start, is `broken`, with the reason.
    """
    homes = dict.fromkeys(
        home.resolve() for home in _candidates(environment, root) if _is_home(home)
    )
    homes |= dict.fromkeys(home.resolve() for home in given)
    asked = [ask(home) for home in homes]
    found = sorted(
        (each for each in asked if isinstance(each, Jdk)), key=lambda jdk: (jdk.feature, jdk.home)
    )
    return Jdks(tuple(found), tuple(each for each in asked if isinstance(each, BrokenJdk)))


def ask(home: Path) -> Jdk | BrokenJdk:
    """Starts the Java in a folder, once, and reads its version and vendor."""
    if not _is_home(home):
        return BrokenJdk(home, f"{home} holds no bin/java that can be started")
    try:
        reported = subprocess.run(
            [home / "bin" / "java", "-version"],
            capture_output=True,
            timeout=START_S,
            stdin=subprocess.DEVNULL,
            env=java_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return BrokenJdk(home, f"{home}: java -version did not end within {START_S:.0f} s")
    except OSError as error:
        return BrokenJdk(home, f"{home}: {error.strerror}")
    words = (reported.stderr + reported.stdout).decode("utf-8", "replace")
    if reported.returncode != 0:
        said = " ".join(words.split())[:WORDS] or "it said nothing"
        return BrokenJdk(home, f"{home}: java -version ended with {reported.returncode}: {said}")
    release = _release(home)
    version = release.get("JAVA_VERSION") or _version(words)
    if not version:
        return BrokenJdk(home, f"{home}: java -version gave no version")
    return Jdk(home, version, release.get("IMPLEMENTOR", ""))


def by_name(jdks: Jdks) -> dict[str, Jdk | BrokenJdk]:
    """Installations by short names: `jdk-17`, a second one `jdk-17-2`; broken ones by folder."""
    named: dict[str, Jdk | BrokenJdk] = {}
    for jdk in jdks.found:
        named[_free(f"jdk-{jdk.feature}", named)] = jdk
    for broken in jdks.broken:
        named[_free("jdk-in-" + re.sub(r"[^A-Za-z0-9.-]", "-", broken.home.name)[:40], named)] = (
            broken
        )
    return named


def find_jdk(level: str) -> Jdk | BrokenJdk:
    """The installation with a short name or in a folder. Raises UsageError for an unknown name."""
    if "/" in level:
        return ask(Path(level))
    named = by_name(find_jdks())
    if level not in named:
        there = ", ".join(named) or "none"
        raise UsageError(f"no Java installation '{level}' here", f"there are: {there}")
    return named[level]


def expand(levels: Sequence[str], given: Sequence[Path]) -> tuple[str, ...]:
    """Levels of the factor `jdk`: ALL replaced by all installations here, and the given folders
    added.

    A given folder that has a short name gets that name. Raises UsageError if nothing is left, or if
    a report would have one name for two folders.
    """
    named = by_name(find_jdks())
    names = {each.home: name for name, each in named.items()}
    expanded = [name for level in levels for name in (named if level == ALL else [level])]
    expanded += [names.get(folder.resolve(), str(folder.resolve())) for folder in given]
    if not expanded:
        raise UsageError(
            "no Java installation was found", "install one, set JAVA_HOME, or give --jdk"
        )
    labels: dict[str, str] = {}
    for level in dict.fromkeys(expanded):
        label = FACTORS["jdk"].label(level)
        if label in labels:
            raise UsageError(
                f"a report would call both {labels[label]} and {level} '{label}'",
                "rename one of the folders",
            )
        labels[label] = level
    return tuple(labels.values())


def _free(name: str, taken: Mapping[str, object]) -> str:
    """The name, with a number if the name itself is taken."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def java_environment() -> dict[str, str]:
    """The environment for a JVM, without variables that contain options."""
    return {name: value for name, value in os.environ.items() if name not in PICKED_UP}


def _candidates(environment: Mapping[str, str], root: Path) -> Iterator[Path]:
    if root.is_dir():
        yield from sorted(root.iterdir())
    if home := environment.get("JAVA_HOME"):
        yield Path(home)
    if java := shutil.which("java", path=environment.get("PATH", "")):
        # A program of PATH is a link into the installation: HOME/bin/java.
        yield Path(java).resolve().parent.parent


def _is_home(home: Path) -> bool:
    java = home / "bin" / "java"
    return java.is_file() and os.access(java, os.X_OK)


def _release(home: Path) -> dict[str, str]:
    """The file `release` of an installation: lines of NAME="VALUE"; empty without the file."""
    try:
        lines = (home / "release").read_text("utf-8", "replace").splitlines()
    except OSError:
        return {}
    return dict(_pairs(lines))


def _pairs(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if found := re.fullmatch(r'(\w+)="?([^"]*)"?', line.strip()):
            yield found[1], found[2].strip()


def _version(words: str) -> str:
    """The version in the output of `java -version`: openjdk version "17.0.15" 2025-04-15."""
    found = re.search(r'version "([^"]+)"', words)
    return found[1] if found else ""
