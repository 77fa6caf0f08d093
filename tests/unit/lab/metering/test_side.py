"""A run's sources together: a server whose children come and go is counted in full."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from tlslab.lab.metering.listener import find_listener, parse_place
from tlslab.lab.metering.processes import TICK_US
from tlslab.lab.metering.side import Side, SideMeter

# Listens, and lets one child after another compute for some 30 ms.
FORKS = """
import os, socket, time
server = socket.create_server(("127.0.0.1", 0))
os.write(1, b"%d\\n" % server.getsockname()[1])
while True:
    child = os.fork()
    if child == 0:
        end = time.process_time() + 0.03
        while time.process_time() < end:
            pass
        os._exit(0)
    os.waitpid(child, 0)
"""

# The counted time exceeds the possible error of its ends.
ENOUGH_US = 400_000


@pytest.fixture
def forks() -> Iterator[tuple[int, str]]:
    """The server's process id, and where it listens."""
    with subprocess.Popen([sys.executable, "-c", FORKS], stdout=subprocess.PIPE) as child:
        assert child.stdout
        yield child.pid, f"127.0.0.1:{int(child.stdout.readline())}"
        child.kill()


def whole(pid: int) -> float:
    """The time of a process and of its ended children, in microseconds."""
    return sum(psutil.Process(pid).cpu_times()[:4]) * 1e6


def test_children_that_come_and_go_are_counted(forks: tuple[int, str]) -> None:
    pid, place = forks
    meter = SideMeter(Side())
    meter.locate(place)
    meter.start()
    before = whole(pid)
    time.sleep(1.5)
    # Beside other work the children get little time.
    deadline = time.monotonic() + 60
    while whole(pid) - before < ENOUGH_US and time.monotonic() < deadline:
        time.sleep(0.1)
    after = whole(pid)
    meter.end()
    meter.close()
    usage, side = meter.result()
    assert usage is not None, side.missing
    counted = usage.user_us + usage.system_us
    # A child that runs at an end of the window, and the ticks of all readings.
    assert abs(counted - (after - before)) <= 80_000 + 8 * TICK_US
    assert counted > ENOUGH_US / 2
    assert side.used in ("process_tree", "cgroup")
    assert side.program.startswith("python")
    assert len(side.processors) == os.cpu_count()


def test_a_child_that_nobody_has_waited_for_does_not_listen(
    forks: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in the table of processes until then, and has no socket any more."""
    pid, place = forks
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert psutil.Process(ended.pid).status() == psutil.STATUS_ZOMBIE
        name_first(monkeypatch, ended.pid, place)
        assert find_listener(parse_place(place)).roots[0].pid == pid


def test_nobody_listens_and_the_reason_is_kept() -> None:
    meter = SideMeter(Side())
    meter.locate("192.0.2.1:443")
    meter.start()
    meter.end()
    meter.close()
    usage, side = meter.result()
    assert (usage, side.used, side.sources) == (None, None, ())
    assert side.missing == {"process_tree": "the server is on another host: see --server-metrics"}
    assert side.processors_by == "proc_stat"


def name_first(monkeypatch: pytest.MonkeyPatch, pid: int, place: str) -> None:
    """Lets the first reading of the table of sockets name this process for a listening one."""
    table, port = psutil.net_connections, int(place.rpartition(":")[2])
    stale = [
        each._replace(pid=pid) if each.laddr and each.laddr.port == port else each
        for each in table(kind="tcp")
    ]
    tables = iter([stale])
    monkeypatch.setattr(psutil, "net_connections", lambda kind: next(tables, None) or table(kind))


def test_a_child_that_has_ended_is_looked_for_again(
    forks: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pid, place = forks
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    name_first(monkeypatch, ended.pid, place)
    assert find_listener(parse_place(place)).roots[0].pid == pid
