"""All processes of a server are ended, however they react."""

import sys
import time
from pathlib import Path

import psutil
import pytest

from tlslab.servers import process as process_module
from tlslab.servers.base import pinned
from tlslab.servers.process import ServerProcess, wait_until

FAMILY = (
    "import os, signal, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "os.fork()\n"
    "print('up', flush=True)\n"
    "time.sleep(60)\n"
)


def test_a_whole_tree_that_ignores_sigterm_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "PATIENCE_S", 0.3)
    server = ServerProcess([sys.executable, "-c", FAMILY], tmp_path / "log")
    assert wait_until(lambda: len(server.tree()) == 2, server, 10)
    family = server.tree()
    server.stop()
    assert not any(process_module.runs(process) for process in family)


def test_children_that_have_lost_their_parent_are_ended(tmp_path: Path) -> None:
    server = ServerProcess([sys.executable, "-c", FAMILY], tmp_path / "log")
    assert wait_until(lambda: len(server.tree()) == 2, server, 10)
    first, child = server.tree()
    first.kill()
    server.popen.wait()
    assert server.tree() == []
    server.stop()
    assert not process_module.runs(child)


def test_stopping_twice_does_no_harm(tmp_path: Path) -> None:
    server = ServerProcess(["sleep", "60"], tmp_path / "log")
    server.stop()
    server.stop()
    assert not server.alive()
    assert server.tree() == []


def test_last_words_are_short_and_on_one_line(tmp_path: Path) -> None:
    code = "import sys; sys.stderr.write('word\\n' * 1000 + 'the end')"
    server = ServerProcess([sys.executable, "-c", code], tmp_path / "log")
    server.popen.wait()
    words = server.last_words()
    assert words.endswith("word the end")
    assert len(words) <= process_module.WORDS
    server.stop()


def test_waiting_ends_with_the_server(tmp_path: Path) -> None:
    server = ServerProcess(["true"], tmp_path / "log")
    start = time.monotonic()
    assert not wait_until(lambda: False, server, 60)
    assert time.monotonic() - start < 30
    server.stop()


def test_a_pinned_command_is_pinned_and_tied_to_its_parent(tmp_path: Path) -> None:
    server = ServerProcess(pinned(["sleep", "60"], [0], "KILL"), tmp_path / "log")
    process = psutil.Process(server.pid)
    assert wait_until(lambda: process.name() == "sleep", server, 10)
    assert process.cpu_affinity() == [0]
    assert server.tree() == [process]
    server.stop()
