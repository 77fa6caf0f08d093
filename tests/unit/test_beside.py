"""scripts/beside.sh: runs a command, and another one at lower priority beside it."""

import os
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tlslab.targets.process import runs

SCRIPT = Path(__file__).parents[2] / "scripts" / "beside.sh"

# The lowest priority.
LAST = 19


def beside(other: str, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), other, "sh", "-c", command],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_other_is_behind_and_is_shown_at_the_end() -> None:
    # Without a command, nice(1) prints its own priority.
    ended = beside("nice; echo other", "nice; echo command")
    here = os.getpriority(os.PRIO_PROCESS, 0)
    assert ended.returncode == 0
    assert ended.stdout.split() == [f"{here}", "command", f"{min(here + 5, LAST)}", "other"]


def test_stages_are_those_of_the_command() -> None:
    shown = "echo ${TLSLAB_STAGES:-none}"
    assert beside(shown, shown, TLSLAB_STAGES="file").stdout.split() == ["file", "none"]


@pytest.mark.parametrize(
    ("other", "command", "code"),
    [("exit 0", "exit 4", 4), ("exit 5", "exit 0", 5), ("exit 5", "exit 4", 4)],
)
def test_a_failure_of_each_is_one_of_both(other: str, command: str, code: int) -> None:
    assert beside(other, command).returncode == code


def test_what_a_failing_other_has_said_is_shown() -> None:
    ended = beside("echo out; echo reason >&2; exit 5", "true")
    assert ended.stdout.split() == ["out", "reason"]


def test_the_other_ends_with_a_command_that_fails(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    started = f"until [ -s {pid} ]; do sleep 0.05; done"
    ended = beside(f"sleep 60 & echo $! > {pid}; wait", f"{started}; exit 4")
    assert ended.returncode == 4
    left = [each for each in psutil.process_iter() if each.pid == int(pid.read_text())]
    deadline = time.monotonic() + 20
    while any(map(runs, left)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(runs, left))
