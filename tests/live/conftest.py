"""Live tests: the installed programs against real servers on this machine."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from tlslab.lab.programs import require_program
from tlslab.targets import Nginx, Reference, Running
from tlslab.targets.base import Setting

# Two cells, short windows: enough to go through everything, too short to mean anything.
SMALL = """\
schema = "tlslab.experiment/1"
name = "small"
title = "Does it work?"
blocks = {blocks}

[factors]
tls = ["1.3"]
key = ["ecdsa-p256"]
group = ["X25519", "P-256"]

[baseline]
group = "X25519"

[workload]
document_bytes = 100
connections = {connections}
requests_per_connection = 1

[workload.capacity]
warmup_ms = 50
measure_ms = {measure_ms}

[workload.client_cost]
warmup_ms = 50
measure_ms = 200
"""


@dataclass
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """What it called an error: one line each, without its remedy."""
        return [line for line in self.err.splitlines() if line.startswith("error: ")]


@dataclass
class Tlslab:
    """Starts `tlslab`, and finds whatever it has started, even when that has lost its parent."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def private(self) -> Path:
        """Where the lab makes its private folders."""
        return self.folder / "private"

    def start(
        self, *arguments: str, prefix: Sequence[str] = (), **variables: str
    ) -> subprocess.Popen[str]:
        environment = {**os.environ, "TLSLAB_TEST_MARK": self.mark, **variables}
        environment |= {"COLUMNS": "200", "TMPDIR": str(self.private)}
        return subprocess.Popen(
            [*prefix, sys.executable, "-m", "tlslab", *arguments],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, prefix: Sequence[str] = (), **variables: str) -> Ended:
        """Runs a command to its end; fails the test if it leaves a process behind."""
        return self.finish(self.start(*arguments, prefix=prefix, **variables))

    def finish(self, child: subprocess.Popen[str]) -> Ended:
        out, err = child.communicate(timeout=120)
        self.assert_nothing_left()
        assert "Traceback" not in err, err
        return Ended(child.returncode, out, err)

    def processes(self) -> list[psutil.Process]:
        """All running processes that descend from a command of ours."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            if process.environ().get("TLSLAB_TEST_MARK") == self.mark:
                return True
            # nginx writes its title over its environment, but keeps its log in the private folder.
            errors = Path(f"/proc/{process.pid}/fd/2").readlink()
            return errors.is_relative_to(self.private)
        except (psutil.Error, OSError):
            return False

    def named(self, name: str, seconds: float = 30) -> psutil.Process:
        """Waits for a process of ours whose program has that name."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for process in self.processes():
                if process.name().startswith(name):
                    return process
            time.sleep(0.02)
        raise AssertionError(f"no process {name}")

    def assert_nothing_left(self, seconds: float = 10) -> None:
        deadline = time.monotonic() + seconds
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self.processes() == []


def trials(folder: Path) -> list[bytes]:
    """The whole lines of a run folder's trials."""
    path = folder / "trials.jsonl"
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def wait_for_trials(folder: Path, count: int, seconds: float = 60) -> None:
    """Waits until a run folder holds so many trials."""
    deadline = time.monotonic() + seconds
    while len(trials(folder)) < count:
        assert time.monotonic() < deadline, f"fewer than {count} trials in {folder}"
        time.sleep(0.02)


@pytest.fixture
def tlslab(tmp_path: Path) -> Iterator[Tlslab]:
    lab = Tlslab(tmp_path)
    lab.private.mkdir()
    yield lab
    for process in lab.processes():
        process.send_signal(signal.SIGKILL)


@pytest.fixture
def small(tmp_path: Path) -> Callable[..., str]:
    """Writes a small experiment; its file's name."""

    def write(blocks: int = 2, measure_ms: int = 300, connections: int = 8) -> str:
        path = tmp_path / "small.toml"
        path.write_text(
            SMALL.format(blocks=blocks, measure_ms=measure_ms, connections=connections), "utf-8"
        )
        return path.name

    return write


def setting(folder: Path, *keys: str) -> Setting:
    """A setting for a server that a test starts by itself."""
    return Setting(folder, keys, ("X25519", "P-256"), 100, ())


@dataclass
class Own:
    """A server that a test has started, not the lab."""

    running: Running
    ca: Path

    @property
    def url(self) -> str:
        return self.running.url


@pytest.fixture
def own_nginx(tmp_path: Path) -> Iterator[Own]:
    """An nginx with an RSA certificate only, which the lab knows nothing of."""
    target = Nginx(setting(tmp_path, "rsa-2048"))
    target.prepare()
    ca = tmp_path / "ca.pem"
    ca.write_text(target.trust_pem)
    running = target.start()
    yield Own(running, ca)
    running.stop()


@pytest.fixture
def own_reference(tmp_path: Path) -> Iterator[Own]:
    """A reference server with an ECDSA certificate, which the lab knows nothing of."""
    target = Reference(setting(tmp_path, "ecdsa-p256"), require_program("tlslab-serve"))
    target.prepare()
    ca = tmp_path / "ca.pem"
    ca.write_text(target.trust_pem)
    running = target.start()
    yield Own(running, ca)
    running.stop()
