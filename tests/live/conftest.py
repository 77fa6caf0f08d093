"""Live tests: the installed programs against real servers on this machine."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from live.harness import SMALL, Own, Tlslab, setting
from tlslab.servers import Nginx, Reference
from tlslab.servers.programs import require_program

# A shell that starts the tests in the background makes them, and all of their children, ignore
# SIGINT.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def tlslab(tmp_path: Path) -> Iterator[Tlslab]:
    lab = Tlslab(tmp_path)
    lab.private.mkdir()
    yield lab
    for command in lab.commands:
        command.kill()
        command.wait(10)
    for process in lab.processes():
        process.send_signal(signal.SIGKILL)


@pytest.fixture
def small(tmp_path: Path) -> Callable[..., str]:
    """Writes a small experiment; returns the name of its file."""

    def write(
        blocks: int = 2, measure_ms: int = 300, connections: int = 8, cost_ms: int = 200
    ) -> str:
        path = tmp_path / "small.toml"
        text = SMALL.format(
            blocks=blocks, measure_ms=measure_ms, connections=connections, cost_ms=cost_ms
        )
        path.write_text(text, "utf-8")
        return path.name

    return write


@pytest.fixture
def own_nginx(tmp_path: Path) -> Iterator[Own]:
    """An nginx with an RSA certificate only, of which the lab knows nothing."""
    target = Nginx(setting(tmp_path, "rsa-2048"))
    target.prepare()
    ca = tmp_path / "ca.pem"
    ca.write_text(target.trust_pem)
    running = target.start()
    yield Own(running, ca)
    running.stop()


@pytest.fixture
def own_reference(tmp_path: Path) -> Iterator[Own]:
    """A reference server with an ECDSA certificate, of which the lab knows nothing."""
    folder = tmp_path / "reference"
    folder.mkdir()
    target = Reference(setting(folder, "ecdsa-p256"), require_program("tlslab-serve"))
    target.prepare()
    ca = folder / "ca.pem"
    ca.write_text(target.trust_pem)
    running = target.start()
    yield Own(running, ca)
    running.stop()
