"""Starts the installed `tlslab`, and finds everything that it has started and written."""

import contextlib
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from live.commands import WIDTH, ForkedCommand, fork
from tlslab.servers import Running
from tlslab.servers.base import Setting

# Processor time of a worker that makes load, in one second on a busy machine.
WORKED_S = 0.03

# Two cells and short windows: enough to execute everything, too short for meaningful figures.
SMALL = """\
schema = "tlslab.experiment/2"
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
measure_ms = {cost_ms}
"""


# A running command.
Child = subprocess.Popen[str] | ForkedCommand


@dataclass
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """The errors that it reported: one line each, without the remedy."""
        return [line for line in self.err.splitlines() if line.startswith("error: ")]

    @property
    def remedy(self) -> str:
        """The remedy that it reported; empty for none."""
        lines = (line.strip() for line in self.err.splitlines())
        found = (line.removeprefix("help: ") for line in lines if line.startswith("help: "))
        return next(found, "")


@dataclass
class Tlslab:
    """Starts `tlslab`, and finds every process that it has started, with or without a parent."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    # Processes that run already are not ours. Inspecting all processes of a machine takes long.
    others: frozenset[psutil.Process] = field(
        default_factory=lambda: frozenset(psutil.process_iter()), repr=False
    )
    commands: list[ForkedCommand] = field(default_factory=list, repr=False)

    @property
    def private(self) -> Path:
        """The place where the lab makes its private folders."""
        return self.folder / "private"

    def start(
        self,
        *arguments: str,
        prefix: Sequence[str] = (),
        module: str = "tlslab",
        **variables: str,
    ) -> Child:
        environment = {**os.environ, "TLSLAB_TEST_MARK": self.mark, **variables}
        environment |= {"COLUMNS": WIDTH, "TMPDIR": str(self.private)}
        # The interpreter reads some variables when it starts.
        early = [name for name in variables if name.startswith(("PYTHON", "LC_", "LANG"))]
        if not (prefix or early) and module == "tlslab":
            command = fork(arguments, self.folder, environment)
            self.commands.append(command)
            return command
        return subprocess.Popen(
            [*prefix, sys.executable, "-m", module, *arguments],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        *arguments: str,
        prefix: Sequence[str] = (),
        module: str = "tlslab",
        **variables: str,
    ) -> Ended:
        """Runs a command to its end; fails the test if the command leaves a process behind."""
        return self.finish(self.start(*arguments, prefix=prefix, module=module, **variables))

    def finish(self, child: Child, seconds: float = 180) -> Ended:
        out, err = child.communicate(timeout=seconds)
        self.assert_nothing_left()
        assert "Traceback" not in err, err
        return Ended(child.wait(), out, err)

    def processes(self) -> list[psutil.Process]:
        """All running processes that descend from a command of this object.

        A command that was forked is not among them: it has the environment of the server.
        """
        new = (process for process in psutil.process_iter() if process not in self.others)
        return [process for process in new if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            if process.environ().get("TLSLAB_TEST_MARK") == self.mark:
                return True
            # nginx overwrites its environment with its title, but keeps its log in the private
            # folder.
            errors = Path(f"/proc/{process.pid}/fd/2").readlink()
            return errors.is_relative_to(self.private)
        except (psutil.Error, OSError):
            return False

    def named(self, name: str, seconds: float = 30) -> psutil.Process:
        """Waits for a process of ours with this program name."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for process in self.processes():
                # Some processes end between two looks, such as a server that checks its
                # configuration.
                with contextlib.suppress(psutil.NoSuchProcess):
                    if process.name().startswith(name):
                        return process
            time.sleep(0.02)
        raise AssertionError(f"no process {name}")

    def engines(self) -> list[psutil.Process]:
        """The generators that run or are ready, of several, in the order of their start."""
        found = []
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.name() == "tlslab-load" and "--barrier" in process.cmdline():
                    found.append(process)
        return sorted(found, key=lambda process: process.pid)

    def assert_nothing_left(self, seconds: float = 10) -> None:
        deadline = time.monotonic() + seconds
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self.processes() == []


def makes_load(engine: psutil.Process) -> bool:
    """Whether a generator is beyond the barrier. Before it, workers need almost no time."""
    with contextlib.suppress(psutil.Error):
        # An engine without --barrier answers a question, and makes no load.
        if "--barrier" not in engine.cmdline():
            return False
        workers = [each for each in engine.threads() if each.id != engine.pid]
        return any(each.user_time + each.system_time > WORKED_S for each in workers)
    return False


def only_lacked_time(record: Mapping[str, Any]) -> bool:
    """Whether no connection completed for want of time: none failed, none was unexpected."""
    outcomes = record["outcomes"]
    return not (outcomes["completed"] or outcomes["failed"] or outcomes["unexpected"])


def measured(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each run of a run folder in which a connection completed, behind its trial.

    On a busy machine a short window may pass without one, which its record then says. That is rare.
    """
    runs = [(trial, run) for trial in read_trials(folder) for run in trial["runs"].values()]
    assert runs
    empty = [run["record"] for _, run in runs if not run["record"]["outcomes"]["completed"]]
    assert len(empty) <= max(1, len(runs) // 10)
    for record in empty:
        assert only_lacked_time(record), record["outcomes"]
        assert "nothing_completed" in {verdict["code"] for verdict in record["verdicts"]}
    return ((trial, run) for trial, run in runs if run["record"]["outcomes"]["completed"])


def trials(folder: Path) -> list[bytes]:
    """The whole lines of a run folder's trials."""
    path = folder / "trials.jsonl"
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def read_trials(folder: Path) -> list[dict[str, Any]]:
    """The trials of a run folder."""
    return [json.loads(line) for line in trials(folder)]


def assert_finished(ended: Ended, folder: Path) -> None:
    """The whole plan was carried out, and the exit code matches the verdicts.

    On a busy machine such a short measurement may be invalid. The run then reports this, which is
    not a failure of the program.
    """
    done = read_trials(folder)
    assert {trial["status"] for trial in done} <= {"done", "unsupported"}, ended.err
    barred = {trial["cell"] for trial in done if trial["status"] == "unsupported"}
    plan = json.loads((folder / "plan.json").read_text())
    planned = {trial["trial"] for trial in plan["trials"] if trial["cell"] not in barred}
    assert planned <= {trial["trial"] for trial in done}
    assert_code_of_verdicts(ended, folder)


def assert_code_of_verdicts(ended: Ended, folder: Path) -> None:
    """The exit code matches the verdicts."""
    summary = json.loads((folder / "summary.json").read_text())
    verdicts = {cell["verdict"] for cell in summary["cells"]}
    assert verdicts
    assert ended.code == (0 if verdicts <= {"valid", "at_least", "unsupported"} else 1), ended.err


def wait_for_trials(folder: Path, count: int, seconds: float = 60) -> None:
    """Waits until a run folder holds N trials."""
    deadline = time.monotonic() + seconds
    while len(trials(folder)) < count:
        assert time.monotonic() < deadline, f"fewer than {count} trials in {folder}"
        time.sleep(0.02)


def setting(folder: Path, *keys: str) -> Setting:
    """The settings of a server that a test starts by itself."""
    return Setting(folder, keys, ("X25519", "P-256"), 100, ())


@dataclass
class Own:
    """A server that a test has started, not the lab."""

    running: Running
    ca: Path

    @property
    def url(self) -> str:
        return self.running.url
