"""Starts on free ports: the owner of a port, and the report on a failed start."""

import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tlslab.domain.errors import CannotRunError
from tlslab.servers import configured
from tlslab.servers.configured import free_port, listens, start_on_free_port
from tlslab.servers.process import ServerProcess

SERVER = """
import os, socket, sys, time
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
for _ in range(int(sys.argv[2])):
    if os.fork() == 0:
        time.sleep(60)
time.sleep(60)
"""


def launcher(folder: Path, code: str, *arguments: str) -> Callable[[int], ServerProcess]:
    def launch(port: int) -> ServerProcess:
        return ServerProcess([sys.executable, "-c", code, str(port), *arguments], folder / "log")

    return launch


def test_a_server_is_up_when_it_listens_and_all_its_processes_are_there(tmp_path: Path) -> None:
    port, server = start_on_free_port("it", launcher(tmp_path, SERVER, "2"), processes=3)
    assert listens(server, port)
    assert len(server.tree()) == 3
    server.stop()
    assert not listens(server, port)


def test_another_programs_port_is_not_taken_for_the_servers_own(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        server = ServerProcess(["sleep", "60"], tmp_path / "log")
        assert not listens(server, other.getsockname()[1])
        server.stop()


def test_a_taken_port_is_exchanged_and_three_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        given = iter([taken, free_port(), taken, taken, taken])
        monkeypatch.setattr(configured, "free_port", lambda address: next(given))
        port, server = start_on_free_port("it", launcher(tmp_path, SERVER, "0"))
        assert port != taken
        server.stop()
        with pytest.raises(CannotRunError, match=r"it found 3 ports taken.*in use"):
            start_on_free_port("it", launcher(tmp_path, SERVER, "0"))


def test_a_server_that_ends_is_reported_with_its_words_and_not_tried_again(tmp_path: Path) -> None:
    tried = []
    launch = launcher(tmp_path, "import sys; sys.exit('no such directive')")

    def counted(port: int) -> ServerProcess:
        tried.append(port)
        return launch(port)

    with pytest.raises(CannotRunError, match="it ended at once: no such directive"):
        start_on_free_port("it", counted)
    assert len(tried) == 1


def test_a_server_that_never_listens_is_stopped(tmp_path: Path) -> None:
    started = []

    def launch(port: int) -> ServerProcess:
        started.append(ServerProcess(["sleep", "60"], tmp_path / "log"))
        return started[-1]

    with pytest.raises(CannotRunError, match=r"it was not up after 0 s: it said nothing"):
        start_on_free_port("it", launch, seconds=0.2)
    assert not started[0].alive()
