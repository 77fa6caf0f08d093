"""Standard streams that are refused or closed."""

import os
import subprocess
import sys

import pytest

PROGRAM = [sys.executable, "-m", "tlslab"]

REFUSED = [
    "error: standard output cannot be written: No space left on device",
    "  help: write to a place that has room",
    "it could not be done: exit 3",
]


def ended(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a shell script ends with that has the program as its arguments."""
    line = ["sh", "-c", script, "sh", *PROGRAM]
    environment = {**os.environ, **variables}
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["--version", "experiments", "experiments --json", "-h"])
def test_output_that_is_refused_is_an_error_of_one_line(command: str, unbuffered: str) -> None:
    done = ended(f'"$@" {command} > /dev/full', PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr.splitlines()) == (3, REFUSED)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_errors_that_nobody_can_read_end_with_3_as_well(unbuffered: str) -> None:
    done = ended('"$@" targets nonsense 2> /dev/full', PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stdout) == (3, "")
    assert ended('"$@" --version > /dev/full 2>&1').returncode == 3


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_is_quiet(unbuffered: str) -> None:
    """The exit code is not that of a verdict, which a job would take for a gate's."""
    for command in ("--version", "experiments", "experiments --json"):
        script = f'("$@" {command}; echo "exit $?" >&2) | (exec 0<&-)'
        done = ended(script, PYTHONUNBUFFERED=unbuffered)
        assert done.stderr.splitlines()[-1] == "exit 3"
        assert "Traceback" not in done.stderr


def test_a_closed_stream_takes_everything() -> None:
    assert ended('"$@" --version >&-').returncode == 0
    done = ended('"$@" targets nonsense 2>&-')
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")
