"""Who reverts a live server: when asked, and when the lab is killed; loudly if in vain."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import pytest

from tlslab.targets.reverter import TRIES, Command, Reverter, RevertError

# A lab that has changed a server, says so, and waits to be killed.
LAB = """
import sys, time
from tlslab.targets.reverter import Command, Reverter
reverter = Reverter(Command(tuple(sys.argv[1:]), 10))
print(reverter.pid, flush=True)
time.sleep(60)
"""


def noting(log: Path, code: int = 0) -> tuple[str, ...]:
    return ("sh", "-c", f"echo reverted >> {log}; echo words; exit {code}")


def lines(log: Path, least: int, seconds: float = 20) -> list[str]:
    """What was noted, once there are N lines."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = log.read_text().split() if log.exists() else []
        if len(found) >= least:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{log} has fewer than {least} lines")


def test_the_command_runs_when_it_is_asked_for(tmp_path: Path) -> None:
    log = tmp_path / "log"
    reverter = Reverter(Command(noting(log), 10))
    assert not log.exists()
    reverter.revert()
    assert log.read_text() == "reverted\n"


def test_a_lab_that_is_killed_has_its_server_reverted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    lab = subprocess.Popen(
        [sys.executable, "-c", LAB, *noting(log)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert lab.stdout is not None
    assert lab.stdout.readline().strip().isdigit()
    assert not log.exists()
    lab.kill()
    _, said = lab.communicate(timeout=30)
    assert lines(log, 1) == ["reverted"]
    assert "tlslab: killed; the server was reverted" in said


def test_a_lab_that_is_killed_while_it_waits_is_spoken_for(tmp_path: Path) -> None:
    """The word was given, and nobody is left to hear how it went."""
    log = tmp_path / "log"
    waits = LAB.replace("time.sleep(60)", "reverter.revert()")
    slow = ("sh", "-c", f"echo begun >> {log}; sleep 1; echo reverted >> {log}")
    lab = subprocess.Popen(
        [sys.executable, "-c", waits, *slow],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    assert lines(log, 1) == ["begun"]
    lab.kill()
    _, said = lab.communicate(timeout=30)
    assert lines(log, 2) == ["begun", "reverted"]
    assert "tlslab: killed; the server was reverted" in said


def test_a_command_that_fails_for_good_is_tried_again_and_named(tmp_path: Path) -> None:
    log = tmp_path / "log"
    reverter = Reverter(Command(noting(log, 7), 10))
    with pytest.raises(RevertError, match=r"THE REVERT FAILED.*ended with 7: words") as raised:
        reverter.revert()
    assert lines(log, TRIES) == ["reverted"] * TRIES
    assert raised.value.exit_code == 3
    assert raised.value.remedy.startswith("run it yourself now: sh -c")


def test_an_interruption_waits_for_the_revert_and_is_not_lost(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    reverter = Reverter(Command(("sh", "-c", f"sleep 1; echo reverted >> {log}"), 10))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            reverter.revert()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert log.read_text() == "reverted\n"


def test_a_command_that_hangs_is_ended(tmp_path: Path) -> None:
    reverter = Reverter(Command(("sleep", "60"), 0.2))
    with pytest.raises(RevertError, match="ended with 124"):
        reverter.revert()


def test_a_failure_after_a_kill_is_said_loudly(tmp_path: Path) -> None:
    log = tmp_path / "log"
    lab = subprocess.Popen(
        [sys.executable, "-c", LAB, *noting(log, 1)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert lab.stdout is not None
    lab.stdout.readline()
    lab.kill()
    _, said = lab.communicate(timeout=60)
    assert "AND THE REVERT FAILED (1). Run it yourself: sh -c" in said
