"""Quota and throttling of a control group, on made-up machines of both versions."""

import os
from pathlib import Path

import pytest

from tlslab.lab import preflight
from tlslab.lab.metering.control_group import ControlGroup

V1 = """\
30 23 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
31 23 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
33 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 none rw
"""
V2 = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
CONTAINER = "31 23 0:27 /docker/7f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"


def machine(root: Path, mounts: str, group: str, **files: str) -> Path:
    """A machine with these files."""
    own = {"proc/self/mountinfo": mounts, "proc/self/cgroup": group}
    for name, text in (own | files).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def found(root: Path) -> tuple[float | None, int | None]:
    group = ControlGroup.of("self", root)
    return group.quota(), group.throttled_us()


def test_version_1_has_files_of_its_own_below_the_controller(tmp_path: Path) -> None:
    files = {
        "sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us": "20000\n",
        "sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/cpu/a/b/cpu.stat": "nr_throttled 4\nthrottled_time 7000\n",
        "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "-1\n",
        "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n",
    }
    machine(tmp_path, V1, "3:cpuset:/\n1:cpu,cpuacct:/a/b\n0::/c\n", **files)
    assert found(tmp_path) == (0.2, 7)


def test_of_version_2_the_least_quota_on_the_way_up_counts(tmp_path: Path) -> None:
    files = {
        "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
        "sys/fs/cgroup/a/b/cpu.stat": "usage_usec 9\nthrottled_usec 0\n",
        "sys/fs/cgroup/a/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/a/cpu.stat": "usage_usec 9\nthrottled_usec 3\n",
    }
    machine(tmp_path, V2, "0::/a/b\n", **files)
    assert found(tmp_path) == (1.5, 3)


@pytest.mark.parametrize("path", ["/docker/7f", "/../other"])
def test_a_container_sees_its_group_as_the_root_of_the_mount(tmp_path: Path, path: str) -> None:
    files = {
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    }
    machine(tmp_path, CONTAINER, f"1:cpu:{path}\n", **files)
    assert found(tmp_path) == (0.5, None)


def test_unreadable_limits_are_unknown(tmp_path: Path) -> None:
    assert found(tmp_path) == (None, None)
    machine(tmp_path, V2, "1:cpu:/a\n")
    assert found(tmp_path) == (None, None)
    machine(tmp_path, "x - y\n - cgroup2\n", "0::/a\nnonsense\n")
    assert found(tmp_path) == (None, None)


def test_the_doctor_names_quota_and_processor_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    check = preflight.check_processors(True, tmp_path)
    assert (check.level, check.message) == ("ok", "the processor set allows 2 of 8 processors")
    machine(tmp_path, V2, "0::/a\n", **{"sys/fs/cgroup/a/cpu.max": "20000 100000\n"})
    check = preflight.check_processors(True, tmp_path)
    assert check.level == "warning"
    assert check.message == "the control group allows 0.2 of 2 processors"
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    check = preflight.check_processors(True, tmp_path)
    shared = "the control group allows 0.2 of 1 processor, which server and generator share"
    assert check.message == shared
