"""The commands of a document, run as they stand in a shell, and what of them failed.

A document has a fresh folder that looks like a checkout, and one shell for all of its blocks;
programs in Python come after them. TLSLAB_SHORT_RUNS cuts the lab's runs down. A block below
`<!-- not run: REASON -->` is left out.
"""

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil

from tlslab.experiment.short import VARIABLE

ROOT = Path(__file__).parents[2]

# What the longest document may take beside other tests.
LIMIT_S = 1_500

# Notes which lines failed.
PROLOGUE = """\
set -uo pipefail
__failed() { printf '%s\\t%s\\n' "$1" "$2" >>"$FAILURES"; }
trap '__failed "$?" "$BASH_COMMAND"' ERR
"""

# A run whose windows are cut to nothing, and an open loop beside other tests, may say that its
# results are not valid: exit code 1. A policy may object to the server that a document grades.
MAY_SAY_INVALID = re.compile(
    r"tlslab (run|validate|scale|compare|history|report|doctor|grade|prove|plan)\b"
    r"|tlslab-load .*--rate\b"
)

# 4: a gate that so short runs leave open, a history of too few runs, costs too noisy to plan with.
MAY_END_WITH = ("1", "4")

WITHOUT_RESULT = re.compile(
    r"^.*(?:without a result|no cell was measured).*: exit 1$", re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """A fenced block of shell commands, with the reason why it is not run, if it is not."""

    commands: str
    reason: str | None


def blocks(text: str) -> list[Block]:
    """The blocks marked `sh` of a document, in its order."""
    found = re.findall(
        r"(?:^<!-- not run: (.+?) -->\n+)?^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    return [Block(commands, reason or None) for reason, commands in found]


def lines_of(document: str) -> list[str]:
    """The lines of the blocks of a document that are not left out."""
    kept = [b.commands for b in blocks((ROOT / document).read_text("utf-8")) if not b.reason]
    return [line for commands in kept for line in commands.splitlines()]


def programs(text: str) -> list[str]:
    """The blocks marked `python` of a document, in its order."""
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def failures(lines: list[str]) -> list[str]:
    """What failed, without the runs that only say that so short a run is not valid."""
    split = [line.partition("\t") for line in lines]
    return [
        f"{command} (exit code {code})"
        for code, _, command in split
        if not (code in MAY_END_WITH and MAY_SAY_INVALID.match(command))
    ]


def checkout(folder: Path) -> None:
    """Has a folder hold what a user finds in a checkout after `make studies-setup`."""
    for name in (".venv", ".cache", "java", "scripts", "python", "Makefile", "docs"):
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)


def carry_out(document: str, folder: Path) -> None:
    """Runs all commands of a document in a folder; fails where one does."""
    checkout(folder)
    wanted = lines_of(document)
    assert wanted
    log, failed = folder / "log", folder / "failed"
    failed.touch()
    (folder / "home").mkdir()
    environment = {
        **os.environ,
        VARIABLE: "1",
        "FAILURES": str(failed),
        "TMPDIR": str(folder),
        "HOME": str(folder / "home"),
        "XDG_CONFIG_HOME": str(folder / "home" / ".config"),
    }
    with log.open("wb") as output:
        shell = subprocess.Popen(
            ["bash", "-c", PROLOGUE + "\n".join(wanted)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            shell.wait(LIMIT_S)
        finally:
            end(shell.pid)
    said = log.read_text("utf-8", "replace")[-6000:]
    wrong = failures(failed.read_text("utf-8").splitlines())
    assert not wrong, "\n".join([*wrong, said])
    assert shell.returncode in (0, 1), said
    for program in programs((ROOT / document).read_text("utf-8")):
        command = [sys.executable, "-c", program]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, program + ended.stderr
    # So short a run may be invalid, but each of its cells has to be measured.
    without = WITHOUT_RESULT.findall(log.read_text("utf-8", "replace"))
    assert not without, "\n".join([*without, said])


def end(session: int) -> None:
    """Ends what the document has left at work: the servers of its session."""
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session:
                process.send_signal(signal.SIGKILL)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
