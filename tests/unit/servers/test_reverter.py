"""The process that reverts a live server: on request, or after a kill; a failure is reported."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import pytest

from tlslab.servers.external import HookError, run_command
from tlslab.servers.reverter import TRIES, Command, Reverter, RevertError

# A lab that has changed a server, reports this, and waits to be killed.
LAB = """
import sys, time
from tlslab.servers.reverter import Command, Reverter
reverter = Reverter(Command(tuple(sys.argv[1:]), 10))
print(reverter.pid, flush=True)
time.sleep(60)
"""


def noting(log: Path, code: int = 0) -> tuple[str, ...]:
    return ("sh", "-c", f"echo reverted >> {log}; echo words; exit {code}")


def lines(log: Path, least: int, seconds: float = 20) -> list[str]:
    """The log, once it has N lines."""
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
    """The request was sent, and no process is left to receive the result."""
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


def said_after_a_kill(*command: str) -> str:
    """What the guard of a killed lab says of its revert."""
    lab = subprocess.Popen(
        [sys.executable, "-c", LAB, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert lab.stdout is not None
    lab.stdout.readline()
    lab.kill()
    return lab.communicate(timeout=60)[1]


def test_a_failure_after_a_kill_is_said_loudly(tmp_path: Path) -> None:
    said = said_after_a_kill(*noting(tmp_path / "log", 1))
    assert "AND THE REVERT FAILED (1). Run it yourself: sh -c" in said


# A lab that is killed in the middle of a command that changes a server.
APPLYING = """
import sys
from tlslab.servers.external import run_command
from tlslab.servers.reverter import Command, Reverter
log, seconds = sys.argv[1:]
slow = f"echo begun >> {log}; sleep {seconds}; echo applied >> {log}"
reverter = Reverter(Command(("sh", "-c", f"echo reverted >> {log}"), 10), 2)
# The command proper is a grandchild, as with `sudo` or a script.
run_command(("sh", "-c", f"({slow}) & wait"), 2, "--apply", {}, reverter.applying)
"""


@pytest.mark.parametrize(
    ("seconds", "noted"),
    [(1, ["begun", "applied", "reverted"]), (30, ["begun", "reverted"])],
)
def test_a_change_under_way_never_lands_after_the_revert(
    tmp_path: Path, seconds: int, noted: list[str]
) -> None:
    """If it ends within its time, it ends first; later it is killed with its whole session."""
    log = tmp_path / "log"
    lab = subprocess.Popen(
        [sys.executable, "-c", APPLYING, str(log), str(seconds)], stderr=subprocess.PIPE, text=True
    )
    assert lines(log, 1) == ["begun"]
    lab.kill()
    _, said = lab.communicate(timeout=60)
    assert lines(log, len(noted)) == noted
    assert "tlslab: killed; the server was reverted" in said


def test_a_change_that_takes_too_long_never_lands_after_the_revert(tmp_path: Path) -> None:
    log = tmp_path / "log"
    reverter = Reverter(Command(noting(log), 10), 0.2)
    late = f"(sleep 2; echo applied >> {log}) & wait"
    with pytest.raises(HookError, match=r"--apply: .* took longer than 0\.2 s"):
        run_command(("sh", "-c", late), 0.2, "--apply", {}, reverter.applying)
    reverter.revert()
    assert lines(log, 2) == ["applied", "reverted"]


def test_background_processes_of_a_change_go_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    reverter = Reverter(Command(noting(log), 10), 10)
    leaves = f"(sleep 1; echo later >> {log}) &"
    run_command(("sh", "-c", leaves), 10, "--apply", {}, reverter.applying)
    reverter.applied()
    reverter.revert()
    assert lines(log, 2) == ["reverted", "later"]


def test_a_change_never_begins_when_its_lab_has_died(tmp_path: Path) -> None:
    """The lab is killed after it has named the session, and before it requests the revert."""
    log = tmp_path / "log"
    dies = APPLYING.replace("reverter.applying", "lambda session: os.kill(os.getpid(), 9)")
    lab = subprocess.Popen(
        [sys.executable, "-c", f"import os{dies}", str(log), "0"], stderr=subprocess.PIPE, text=True
    )
    lab.communicate(timeout=60)
    time.sleep(0.5)
    assert lines(log, 1) == ["reverted"]


def test_a_change_that_may_not_be_killed_is_named_before_the_revert(tmp_path: Path) -> None:
    """Like a process of another user by `sudo`: here `kill` has no effect."""
    log = tmp_path / "log"
    deaf = "import tlslab.servers.reverter as r\nr._REVERT = r._REVERT.replace('kill -s', ': ')\n"
    code = APPLYING.replace("log, seconds", deaf + "log, seconds", 1)
    lab = subprocess.Popen(
        [sys.executable, "-c", code, str(log), "16"], stderr=subprocess.PIPE, text=True
    )
    assert lines(log, 1) == ["begun"]
    lab.kill()
    lab.wait()
    assert lines(log, 2, 40) == ["begun", "reverted"]
    assert lab.stderr is not None
    assert "--apply goes on and may not be killed" in lab.stderr.readline()
    lab.stderr.close()
    assert lines(log, 3, 40) == ["begun", "reverted", "applied"]


def test_the_command_to_run_by_hand_is_shown_as_it_was_given(tmp_path: Path) -> None:
    """`echo` of dash would turn it into a line feed."""
    said = said_after_a_kill("sh", "-c", f"echo x >> {tmp_path / 'log'}; : 'a\\nb'")
    assert "a\\nb" in said
