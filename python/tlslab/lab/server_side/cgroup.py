"""Processor time of a server's control group, version 2.

The kernel's Documentation/admin-guide/cgroup-v2.rst: `/proc/PID/cgroup` has the line `0::PATH`, and
`cpu.stat` in that folder has `usage_usec`, `user_usec` and `system_usec`, whether or not the cpu
controller is on. Processes that came and went are included.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from tlslab.lab.server_side.listener import NotFoundError


@dataclass(frozen=True)
class Cgroup:
    """A control group without processes other than the server's."""

    folder: Path

    def read(self) -> tuple[int, int]:
        """User and system time so far, in microseconds. Raises NotFoundError."""
        try:
            lines = (self.folder / "cpu.stat").read_text().splitlines()
            values = dict(line.split()[:2] for line in lines if line.strip())
            user, system = int(values["user_usec"]), int(values["system_usec"])
        except (OSError, ValueError, KeyError):
            raise NotFoundError("its cgroup has no cpu.stat that can be read") from None
        return user, system


def find_cgroup(pids: Collection[int], root: Path = Path("/")) -> Cgroup:
    """The control group that has exactly these processes. Raises NotFoundError.

    `root` is the parent of /proc and /sys.
    """
    mount = _mount(root)
    if mount is None:
        raise NotFoundError("cgroup v2 is not mounted")
    paths = {_path(pid, root) for pid in pids}
    if len(paths) != 1:
        raise NotFoundError("its processes are in several cgroups")
    path = paths.pop()
    if path is None or ".." in path.split("/"):
        raise NotFoundError("its cgroup cannot be seen from here")
    if path == "/":
        raise NotFoundError("it has no cgroup of its own")
    group = Cgroup(mount / path.lstrip("/"))
    others = set(_members(group.folder)) - set(pids)
    if others:
        raise NotFoundError(f"its cgroup has {len(others)} processes that are not its own")
    group.read()
    return group


def _mount(root: Path) -> Path | None:
    try:
        lines = (root / "proc" / "mounts").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    for line in lines:
        fields = line.split(" ")
        if len(fields) > 2 and fields[2] == "cgroup2":
            return root / fields[1].replace("\\040", " ").lstrip("/")
    return None


def _path(pid: int, root: Path) -> str | None:
    try:
        lines = (root / "proc" / str(pid) / "cgroup").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    return next((line[3:] for line in lines if line.startswith("0::")), None)


def _members(folder: Path) -> Iterator[int]:
    """All processes of a group and of the groups below it."""
    try:
        for file in (folder / "cgroup.procs", *folder.rglob("*/cgroup.procs")):
            yield from map(int, file.read_text().split())
    except (OSError, ValueError):
        raise NotFoundError("its cgroup cannot be read") from None
