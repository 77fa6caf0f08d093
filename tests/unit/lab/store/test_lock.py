"""Only one process at a time continues a run; a dead one does not block it."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tlslab.domain.errors import StoreError
from tlslab.domain.run import TargetInfo
from tlslab.domain.trial import Reason, Trial
from tlslab.experiment import dumps, load, make_plan
from tlslab.lab.opening import describe
from tlslab.lab.placement import Placement
from tlslab.lab.store import RunFolder

EXPERIMENT = load("groups", "quick")
PLAN = make_plan(EXPERIMENT, 3)
INFO = TargetInfo("reference", True, "tlslab-serve", "openssl", (0,), "127.0.0.1", "/bytes/1")
ENVIRONMENT = describe(INFO, Placement((0,), (1,)), ["tlslab", "run"], [])
TRIAL = Trial(0, 0, 0, "cell", {"tls": "1.3"}, "2026-01-01", "failed", Reason("reset", "gone"))

# Continues a run, reports this, and waits.
OWNER = """
import sys, time
from pathlib import Path
from tlslab.lab.store import RunFolder
folder = RunFolder.resume(Path(sys.argv[1]))
print("has it", flush=True)
time.sleep(60)
"""


def make(path: Path) -> Path:
    """A run folder that no process works on."""
    RunFolder.create(path, dumps(EXPERIMENT), PLAN, ENVIRONMENT)
    return path


def own(path: Path) -> subprocess.Popen[str]:
    """Another process that works on a run."""
    command = [sys.executable, "-c", OWNER, str(path)]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "has it\n"
    return owner


def test_a_second_process_is_refused_by_name_until_the_first_is_dead(tmp_path: Path) -> None:
    path = make(tmp_path / "r")
    with own(path) as owner:
        with pytest.raises(StoreError, match=rf"r: another tlslab \(process {owner.pid}\)") as met:
            RunFolder.resume(path)
        assert met.value.exit_code == 3
        assert RunFolder.open(path).trials() == (), "who only reads needs no lock"
        owner.send_signal(signal.SIGKILL)
        owner.wait()
    assert (path / ".lock").read_text() == f"{owner.pid}\n", "the dead one's note is still there"
    RunFolder.resume(path).append(TRIAL)
    assert RunFolder.open(path).trials() == (TRIAL,)


def test_a_new_run_is_its_makers_alone(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "r", dumps(EXPERIMENT), PLAN, ENVIRONMENT)
    with pytest.raises(StoreError, match="is at work on this run"):
        RunFolder.resume(folder.path)
    with pytest.raises(StoreError, match="is at work on this run"):
        RunFolder.create(folder.path, dumps(EXPERIMENT), PLAN, ENVIRONMENT)


def test_a_lock_that_holds_anything_is_no_obstacle(tmp_path: Path) -> None:
    path = make(tmp_path / "r")
    (path / ".lock").write_bytes(b"\xff\x1b[2J" * 100)
    RunFolder.resume(path)
    assert (path / ".lock").read_text() == f"{os.getpid()}\n"


def test_names_are_forced_to_the_disk_like_what_they_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []

    def noted(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            synced.append(Path(os.readlink(f"/proc/self/fd/{handle}")))

    monkeypatch.setattr(os, "fsync", noted)
    folder = RunFolder.create(tmp_path / "r", dumps(EXPERIMENT), PLAN, ENVIRONMENT)
    assert synced == [tmp_path, *3 * [folder.path]], "the folder, and its first three files"
    synced.clear()
    folder.append(TRIAL)
    folder.append(TRIAL)
    assert synced == [folder.path], "the file of trials is made once"
