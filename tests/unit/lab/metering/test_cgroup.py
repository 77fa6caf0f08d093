"""A control group counts if it belongs to the server alone; otherwise the reason is named."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tlslab.lab.metering.control_group import find_cgroup
from tlslab.lab.metering.listener import NotFoundError

STAT = "usage_usec 1200\nuser_usec 900\nsystem_usec 300\nnr_periods 0\n"


def machine(
    root: Path, path: str = "/web.slice/web.service", members: str = "7\n8\n", stat: str = STAT
) -> Path:
    """A made-up machine: the mount, the group of the processes 7 and 8, its members."""
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "self" / "mountinfo").write_text(
        "22 1 0:5 / /proc rw - proc proc rw\n29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    )
    for pid in ("7", "8"):
        (root / "proc" / pid).mkdir()
        (root / "proc" / pid / "cgroup").write_text(f"1:cpu:/old\n0::{path}\n")
    folder = root / "sys" / "fs" / "cgroup" / "web.slice" / "web.service"
    folder.mkdir(parents=True)
    (folder / "cgroup.procs").write_text(members)
    (folder / "cpu.stat").write_text(stat)
    return folder


def test_a_group_of_ones_own_is_read(tmp_path: Path) -> None:
    folder = machine(tmp_path)
    group = find_cgroup({7, 8}, tmp_path)
    assert group.read() == (900, 300)
    (folder / "cpu.stat").write_text("usage_usec 2000\nuser_usec 1500\nsystem_usec 500\n")
    assert group.read() == (1500, 500)


def test_groups_below_it_belong_to_it(tmp_path: Path) -> None:
    folder = machine(tmp_path, members="7\n")
    (folder / "workers").mkdir()
    (folder / "workers" / "cgroup.procs").write_text("8\n")
    assert find_cgroup({7, 8}, tmp_path).read() == (900, 300)
    (folder / "workers" / "cgroup.procs").write_text("8\n9\n")
    with pytest.raises(NotFoundError, match="1 processes that are not its own"):
        find_cgroup({7, 8}, tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"path": "/"}, "no cgroup of its own"),
        ({"path": "/../../elsewhere"}, "cannot be seen from here"),
        ({"members": "7\n8\n1\n"}, "1 processes that are not its own"),
        ({"members": "seven\n"}, "cannot be read"),
        ({"stat": "usage_usec 1\n"}, "no cpu.stat"),
        ({"stat": "user_usec much\nsystem_usec 1\n"}, "no cpu.stat"),
    ],
)
def test_any_other_is_not_and_the_reason_is_named(
    tmp_path: Path, changes: dict[str, str], words: str
) -> None:
    machine(tmp_path, **changes)
    with pytest.raises(NotFoundError, match=words):
        find_cgroup({7, 8}, tmp_path)


def test_a_machine_without_version_2_and_processes_in_two_groups(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="not mounted"):
        find_cgroup({7}, tmp_path)
    machine(tmp_path)
    (tmp_path / "proc" / "8" / "cgroup").write_text("0::/other\n")
    with pytest.raises(NotFoundError, match="several cgroups"):
        find_cgroup({7, 8}, tmp_path)


@pytest.fixture
def own_group() -> Iterator[Path]:
    """A control group of this kernel, if a test may create one."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    mount = next((Path(each[1]) for each in mounts if each[2] == "cgroup2"), None)
    folder = Path("/nonexistent") if mount is None else mount / f"tlslab-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("no cgroup v2 that this user may add to")
    yield folder
    deadline = time.monotonic() + 10
    while (folder / "cgroup.procs").read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    folder.rmdir()


def test_the_kernels_own_account_of_a_process(own_group: Path) -> None:
    """It counts whether or not the process still exists."""
    code = "import time; sum(range(3000000)); print('x', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", f"input(); {code}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin
        assert child.stdout
        try:
            (own_group / "cgroup.procs").write_text(str(child.pid))
        except OSError:
            child.kill()
            pytest.skip("processes may not be moved here")
        group = find_cgroup({child.pid})
        before = sum(group.read())
        child.stdin.write(b"\n")
        child.stdin.flush()
        child.stdout.readline()
        assert sum(group.read()) > before + 1000
        child.stdin.close()
        child.wait()
