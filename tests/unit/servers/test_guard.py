"""After the lab was killed nothing is left, however a server handles its signals."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tlslab.lab.benchmark.jmh import guarded
from tlslab.lab.benchmark.keystores import KeyStore
from tlslab.servers.guard import Guard, bound
from tlslab.servers.process import ServerProcess, runs

# A lab that starts a server of two processes that ignore SIGTERM, prints their ids, and is killed.
LAB = """
import os, sys, time
from pathlib import Path
from tlslab.servers.process import ServerProcess
body = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.fork(); "
server = ServerProcess([sys.executable, "-c", body + "time.sleep(60)"], Path(sys.argv[1]))
while len(server.tree()) < 2:
    time.sleep(0.01)
print(*(process.pid for process in server.tree()), flush=True)
time.sleep(60)
"""


def ends(process: psutil.Process, seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while runs(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not runs(process)


def test_a_killed_lab_leaves_no_server_behind(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LAB, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    ) as lab:
        assert lab.stdout is not None
        servers = [psutil.Process(int(pid)) for pid in lab.stdout.readline().split()]
        assert len(servers) == 2
        lab.kill()
    assert all(ends(server) for server in servers)


def test_a_guard_that_is_dismissed_kills_nobody() -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as other:
        guard = Guard(other.pid)
        guard.dismiss()
        guard.dismiss()
        assert other.poll() is None
        other.kill()


def test_a_guard_that_was_ended_is_no_obstacle(tmp_path: Path) -> None:
    server = ServerProcess(["sleep", "60"], tmp_path / "log")
    server._guard._shell.kill()
    server.stop()
    assert not server.alive()


def test_a_command_whose_lab_is_dead_already_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made"
    command = ["touch", str(made)]
    monkeypatch.setattr(os, "getpid", lambda: 1)
    orphan = bound("KILL")
    monkeypatch.undo()
    assert subprocess.run([*orphan, *command], check=False).returncode != 0
    assert not made.exists()
    assert subprocess.run([*bound("KILL"), *command], check=False).returncode == 0
    assert made.exists()


def test_a_jvm_whose_lab_is_dead_already_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx1m")
    script = f'test -z "$JAVA_TOOL_OPTIONS" && echo "$GIVEN" > {made}'
    keys = KeyStore("memory", environment={"GIVEN": "a b"})
    monkeypatch.setattr(os, "getpid", lambda: 1)
    orphan = guarded(["sh", "-c", script], keys)
    monkeypatch.undo()
    assert subprocess.run(orphan, check=False).returncode != 0
    assert not made.exists()
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx1m")
    done = subprocess.run(guarded(["sh", "-c", script], keys), check=False)
    assert (done.returncode, made.read_text()) == (0, "a b\n")


def test_a_bound_command_keeps_its_words_and_its_exit_code() -> None:
    script = 'printf "%s|" "$@"; exit 7'
    command = [*bound("KILL"), "sh", "-c", script, "sh", "a b", "$HOME", ""]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "a b|$HOME||")


def test_a_bound_command_ends_with_its_parent() -> None:
    code = (
        "import subprocess, time; from tlslab.servers.guard import bound\n"
        "child = subprocess.Popen([*bound('KILL'), 'sleep', '60'])\n"
        "print(child.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
    assert ends(child)
