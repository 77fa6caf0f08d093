"""The control group of a process: how much processor time it allows, and how long it withheld it.

cgroups(7). The engine's system/control_group.rs reads the same of itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


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
    # `4:cpu,cpuacct:/path`; of version 2 `0::/path`.
    paths = {
        name: fields[2]
        for line in groups
        if len(fields := line.split(":", 2)) == 3
        for name in fields[1].split(",")
    }
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
    for line in _lines(folder / "cpu.stat"):
        name, _, number = line.partition(" ")
        if name in ("throttled_usec", "throttled_time") and number.strip().isdigit():
            return int(number) // (1 if name == "throttled_usec" else 1000)
    return None
