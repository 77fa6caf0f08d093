"""The listening process is found by its socket, with all processes of the server and no others."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tlslab.lab.metering import listener
from tlslab.lab.metering.listener import NotFoundError, find_listener, parse_place

# Listens, forks two workers that share its socket, and one of these starts a child without it.
FORKING = """
import os, socket, subprocess, sys
server = socket.socket()
server.bind(("{host}", 0))
server.listen()
children = []
for number in range(2):
    child = os.fork()
    if child == 0:
        if number == 0:
            subprocess.Popen(["sleep", "60"])
        os.write(1, b"child\\n")
        sys.stdin.read()
        os._exit(0)
os.write(1, b"port %d\\n" % server.getsockname()[1])
sys.stdin.read()
"""


def start(host: str = "127.0.0.1") -> tuple[subprocess.Popen[str], int]:
    child = subprocess.Popen(
        [sys.executable, "-c", FORKING.format(host=host)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout
    lines = [child.stdout.readline().split() for _ in range(3)]
    return child, next(int(words[1]) for words in lines if words[0] == "port")


@pytest.fixture
def forking(request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[str], int]]:
    child, port = start(getattr(request, "param", "127.0.0.1"))
    yield child, port
    os.killpg(child.pid, 9)
    child.communicate()


@pytest.mark.parametrize("forking", ["127.0.0.1", "0.0.0.0"], indirect=True)
def test_a_forking_server_is_one_tree(forking: tuple[subprocess.Popen[str], int]) -> None:
    child, port = forking
    found = find_listener(("127.0.0.1", port))
    assert [root.pid for root in found.roots] == [child.pid]
    names = sorted(process.name() for process in found.tree())
    assert len(names) == 4
    assert names[-1] == "sleep"
    assert found.program.startswith("python")


def test_this_process_is_never_part_of_the_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as own:
        found = find_listener(("127.0.0.1", own.getsockname()[1]))
        assert [root.pid for root in found.roots] == [os.getpid()]
        assert found.tree() == []


def test_an_address_of_another_host_a_free_port_and_another_address() -> None:
    with pytest.raises(NotFoundError, match="on another host"):
        find_listener(("192.0.2.1", 443))
    with socket.create_server(("127.0.0.1", 0)) as own:
        port = own.getsockname()[1]
        with pytest.raises(NotFoundError, match="no process"):
            find_listener(("127.0.0.2", port))
    with pytest.raises(NotFoundError, match="no process"):
        find_listener(("127.0.0.1", port))


def test_a_program_that_only_forwards_is_not_the_server(
    forking: tuple[subprocess.Popen[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = find_listener(("127.0.0.1", forking[1])).program
    monkeypatch.setattr(listener, "FORWARDERS", (program,))
    with pytest.raises(NotFoundError, match="for a server that is elsewhere"):
        find_listener(("127.0.0.1", forking[1]))


def test_the_engines_way_to_write_an_address() -> None:
    assert parse_place("127.0.0.1:8443") == ("127.0.0.1", 8443)
    assert parse_place("[::1]:443") == ("::1", 443)
