"""Interruptions before a command has begun: its imports take part of a second."""

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tlslab import __version__

# Sends itself the signal as soon as the modules of the commands begin to be imported.
INTERRUPTED = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "tlslab.cli":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


# The installed command, and `python -m tlslab`.
STARTS = (
    "from tlslab.__main__ import main; main()",
    "import runpy; runpy.run_module('tlslab', run_name='__main__')",
)


@pytest.mark.parametrize("start", STARTS)
def test_an_interruption_of_the_imports_ends_quietly(start: str) -> None:
    code = INTERRUPTED + "sys.argv = ['tlslab', '--version']\n" + start
    line = [sys.executable, "-c", code]
    # The tests themselves may run in the background of a shell, which ignores interruptions there.
    taking, ignoring = (
        partial(signal.signal, signal.SIGINT, way) for way in (signal.SIG_DFL, signal.SIG_IGN)
    )
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, preexec_fn=taking)
    assert (done.returncode, done.stderr) == (130, "interrupted: exit 130\n")
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, preexec_fn=ignoring)
    assert (done.returncode, done.stdout) == (0, f"tlslab {__version__}\n")


def test_the_installed_command_starts_where_interruptions_are_seen_to() -> None:
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8")
    assert 'tlslab = "tlslab.__main__:main"' in project
