"""The runtimes of benchmarks: the machine's virtual machines, by short names, and the engine."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlslab.domain.benchmark import ENGINE
from tlslab.domain.errors import UsageError
from tlslab.servers.jdk import BrokenJdk, Jdk, Jdks

ALL = "jdk"
NEWEST = "jdk-newest"


@dataclass(frozen=True)
class Runtimes:
    """Java installations by the level that names them: `jdk-17`, a second one `jdk-17-2`."""

    jdks: Mapping[str, Jdk]
    broken: Mapping[str, BrokenJdk]

    @classmethod
    def of(cls, found: Jdks) -> "Runtimes":
        """The installations by name, in the order of `find_jdks`; a broken one by its folder."""
        named: dict[str, Jdk] = {}
        for jdk in found.found:
            named[_free(f"jdk-{jdk.feature}", named)] = jdk
        broken: dict[str, BrokenJdk] = {}
        for each in found.broken:
            name = re.sub(r"[^A-Za-z0-9.-]", "-", each.home.name)[:40]
            broken[_free(f"jdk-in-{name}", broken)] = each
        return cls(named, broken)

    def expand(self, levels: Sequence[str]) -> tuple[str, ...]:
        """The levels with `jdk` and `jdk-newest` replaced by the installations of this machine.

        Raises UsageError for a level without an installation.
        """
        expanded: list[str] = []
        for level in levels:
            if level == ALL:
                expanded += [*self.jdks, *self.broken]
            elif level == NEWEST:
                expanded += list(self.jdks)[-1:] or list(self.broken)[:1]
            elif level == ENGINE or level in self.jdks or level in self.broken:
                expanded.append(level)
            else:
                raise UsageError(f"no runtime '{level}' here", f"there are: {self._known()}")
        if not expanded:
            raise UsageError("no Java installation was found", "install one, or set JAVA_HOME")
        return tuple(dict.fromkeys(expanded))

    def named(self, homes: Sequence[Path]) -> tuple[str, ...]:
        """The levels that stand for the installations in these folders."""
        resolved = {home.resolve() for home in homes}
        every: dict[str, Jdk | BrokenJdk] = {**self.jdks, **self.broken}
        return tuple(name for name, each in every.items() if each.home.resolve() in resolved)

    def _known(self) -> str:
        return ", ".join([*self.jdks, *self.broken, ENGINE])

    def words(self, levels: Sequence[str]) -> str:
        """The runtimes behind the levels, in words."""
        return "; ".join(f"{name}: {self.jdks[name].label}" for name in levels if name in self.jdks)


def _free(name: str, taken: Mapping[str, object]) -> str:
    """The name, with a number if the name itself is taken."""
    number = 2
    free = name
    while free in taken:
        free = f"{name}-{number}"
        number += 1
    return free
