"""The control group of a process: the processor time that it allows, withheld, and has used.

cgroups(7). The engine's system/control_group.rs reads the same of itself.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from tlslab.lab.metering.listener import NotFoundError


@dataclass(frozen=True)
class ControlGroup:
    """The folders of a process's group and of those above it, as far as they can be seen."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, pid: int | str, root: Path = Path("/")) -> "ControlGroup":
        """The group of a process, without folders if it cannot be found.

        `root` is the parent of /proc and /sys.
        """
        found = _folder(_lines(root / "proc/self/mountinfo"), _lines(root / f"proc/{pid}/cgroup"))
        if found is None:
            return cls(())
        mount, path = found
        top = root / mount.lstrip("/")
        own = top / path.lstrip("/")
        return cls(tuple(f for f in (own, *own.parents) if f == top or f.is_relative_to(top)))

    def quota(self) -> float | None:
        """The processors' time that the quotas allow, in processors; None without a quota."""
        found = (_quota(folder) for folder in self.folders)
        return min((quota for quota in found if quota is not None), default=None)

    def throttled_us(self) -> int | None:
        """How long groups were throttled so far, in microseconds, added up over processors.

        Of the group with the most; None where no group counts it.
        """
        found = (_throttled_us(folder) for folder in self.folders)
        return max((us for us in found if us is not None), default=None)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def _folder(mounts: list[str], groups: list[str]) -> tuple[str, str] | None:
    """The mount point of the hierarchy that shares processor time out, and the group's path there.

    Of version 1 if the controller `cpu` is there, otherwise of version 2.
    """
    paths = _paths(groups)
    for controller in ("cpu", ""):
        if controller not in paths:
            continue
        for root, mount in _mounts(mounts, controller):
            inside = root.rstrip("/")
            path = paths[controller]
            # A container sees its group as the root of the mount.
            path = path[len(inside) :] if path.startswith(inside) else ""
            return mount, "" if ".." in path.split("/") else path
    return None


def _paths(groups: list[str]) -> dict[str, str]:
    """The paths in /proc/PID/cgroup by controller, "" for version 2: `4:cpu:/a`, `0::/b`."""
    return {
        name: fields[2]
        for line in groups
        if len(fields := line.split(":", 2)) == 3
        for name in fields[1].split(",")
    }


def _mounts(lines: list[str], controller: str) -> Iterator[tuple[str, str]]:
    """Root and mount point of each mount of this hierarchy (proc_pid_mountinfo(5))."""
    for line in lines:
        before, _, after = line.partition(" - ")
        first, last = before.split(" "), after.split(" ")
        if len(first) < 5 or len(last) < 3:
            continue
        is_v1 = last[0] == "cgroup" and controller in last[2].split(",")
        if is_v1 if controller else last[0] == "cgroup2":
            yield first[3], first[4].replace("\\040", " ")


def _quota(folder: Path) -> float | None:
    """`cpu.max` of version 2: quota and period, or `max`. Of version 1 two files; -1 is none."""
    words = " ".join(_lines(folder / "cpu.max")).split() or [
        *_lines(folder / "cpu.cfs_quota_us"),
        *_lines(folder / "cpu.cfs_period_us"),
    ]
    try:
        quota, period = float(words[0]), float(words[1])
    except (ValueError, IndexError):
        return None
    return quota / period if quota > 0 and period > 0 else None


def _throttled_us(folder: Path) -> int | None:
    """`throttled_usec` of version 2, `throttled_time` in nanoseconds of version 1."""
    counts = _counts(folder)
    if "throttled_usec" in counts:
        return counts["throttled_usec"]
    return counts["throttled_time"] // 1000 if "throttled_time" in counts else None


def _counts(folder: Path) -> dict[str, int]:
    """The counts of a group's `cpu.stat`, by name."""
    pairs = (line.split() for line in _lines(folder / "cpu.stat"))
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


@dataclass(frozen=True)
class Cgroup:
    """A control group of version 2 without processes other than the server's.

    The kernel's Documentation/admin-guide/cgroup-v2.rst: `cpu.stat` has `user_usec` and
    `system_usec`, whether or not the cpu controller is on. Processes that came and went are
    included.
    """

    folder: Path

    def read(self) -> tuple[int, int]:
        """User and system time so far, in microseconds. Raises NotFoundError."""
        counts = _counts(self.folder)
        try:
            return counts["user_usec"], counts["system_usec"]
        except KeyError:
            raise NotFoundError("its cgroup has no cpu.stat that can be read") from None


def find_cgroup(pids: Collection[int], root: Path = Path("/")) -> Cgroup:
    """The control group that has exactly these processes. Raises NotFoundError.

    `root` is the parent of /proc and /sys.
    """
    mounts = [mount for _, mount in _mounts(_lines(root / "proc/self/mountinfo"), "")]
    if not mounts:
        raise NotFoundError("cgroup v2 is not mounted")
    paths = {_paths(_lines(root / f"proc/{pid}/cgroup")).get("") for pid in pids}
    if len(paths) != 1:
        raise NotFoundError("its processes are in several cgroups")
    path = paths.pop()
    if path is None or ".." in path.split("/"):
        raise NotFoundError("its cgroup cannot be seen from here")
    if path == "/":
        raise NotFoundError("it has no cgroup of its own")
    group = Cgroup(root / mounts[0].lstrip("/") / path.lstrip("/"))
    try:
        # All processes of the group and of the groups below it.
        files = (group.folder / "cgroup.procs", *group.folder.rglob("*/cgroup.procs"))
        members = {int(pid) for file in files for pid in file.read_text().split()}
    except (OSError, ValueError):
        raise NotFoundError("its cgroup cannot be read") from None
    if others := members - set(pids):
        raise NotFoundError(f"its cgroup has {len(others)} processes that are not its own")
    group.read()
    return group
