"""Runs the commands of a document as written, in a shell, and collects those that fail.

A document, or a part of one, has a fresh folder that looks like a checkout, and one shell for all
of its blocks; programs in Python come after them. TLSLAB_SHORT_RUNS shortens the lab's runs. A
block below `<!-- not run: REASON -->` is skipped.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psutil

from live.commands import WIDTH, server
from tlslab.experiment.short import VARIABLE

ROOT = Path(__file__).parents[2]

# The section of docs/how-to.md with which its second part begins.
SECOND_PART = "Find out what this machine can tell apart"

# Commands of README that docs/how-to.md has as well, and whose results no other command uses: they
# are run in README only.
SHARED = (
    "tlslab targets",
    "tlslab run offload",
    "tlslab run runtimes",
    "tlslab run capacity --target nginx,apache",
)

# Time limit of the longest document beside other tests.
LIMIT_S = 1_500

# Records which lines failed, and when a line began.
PROLOGUE = """\
set -uo pipefail
__at() { printf '%s\\t%s\\n' "$EPOCHREALTIME" "$1" >>"$TIMES"; }
__failed() { printf '%s\\t%s\\n' "$1" "$2" >>"$FAILURES"; }
trap '__failed "$?" "$BASH_COMMAND"' ERR
# A server that starts beside other tests takes longer.
sleep() { command sleep "$((3 * $1))"; }
"""

# A run with tiny windows, or an open loop beside other tests, may report invalid results: exit code
# 1. A policy may object to the server that a document grades.
MAY_SAY_INVALID = re.compile(
    r"tlslab (run|validate|scale|compare|history|report|doctor|grade|prove|plan)\b"
    r"|tlslab-load .*--rate\b"
)

# 4: such short runs leave a gate open, a history has too few runs, costs are too noisy to plan
# with.
MAY_END_WITH = ("1", "4")

# Beside other tests no connection may complete in the tiny windows of one block, and the generator
# may have to wait for its processors. The commands then end with these codes, and the log has these
# words.
_NONE = r"none of \d+ connections completed|the one connection did not complete"
_WAITED = re.compile("ready and did not run")
ON_A_BUSY_MACHINE = (
    ("tlslab-load", "1", _WAITED),
    ("tlslab load", "1", _WAITED),
    ("tlslab selftest", "3", re.compile("no try was finished")),
    ("tlslab plan", "2", re.compile(f"({_NONE}|{_WAITED.pattern}).*has no cost of", re.DOTALL)),
)

WITHOUT_RESULT = re.compile(
    r"^.*(?:without a result|no cell was measured).*: exit 1$", re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """A fenced block of shell commands; with a reason if the block is not run."""

    commands: str
    reason: str | None


def blocks(text: str) -> list[Block]:
    """The blocks of a document marked `sh`, in order."""
    found = re.findall(
        r"(?:^<!-- not run: (.+?) -->\n+)?^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    return [Block(commands, reason or None) for reason, commands in found]


def lines_of(text: str) -> list[str]:
    """The lines of the blocks of a document that are run."""
    kept = [block.commands for block in blocks(text) if not block.reason]
    return [line for commands in kept for line in commands.splitlines()]


def bare(line: str) -> str:
    """A line of a block without its comment."""
    return line.partition(" #")[0].rstrip()


def read(document: str) -> str:
    """The text of a document."""
    return (ROOT / document).read_text("utf-8")


def split(text: str, heading: str) -> tuple[str, str]:
    """The two parts of a document, for two workers: the second begins with this section.

    Before it comes the document's first block, which sets the path. The second part may use nothing
    else of the first.
    """
    first, found, rest = text.partition(f"\n## {heading}\n")
    assert found, heading
    return first, f"```sh\n{blocks(text)[0].commands}```\n{found}{rest}"


def parts_of_readme() -> tuple[str, str]:
    """The questions of README, and the rest, for two workers.

    The rest begins with the first two lines of the questions: the path, and a run that it reads.
    """
    questions, found, rest = read("README.md").partition("\n## Five studies, one command each\n")
    assert found
    first = "\n".join(lines_of(questions)[:2])
    return questions, f"```sh\n{first}\n```\n{found}{rest}"


def programs(text: str) -> list[str]:
    """The blocks of a document marked `python`, in order."""
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def failures(lines: list[str], said: str) -> list[str]:
    """The failed commands, except runs that only say, in the log, that they were too short."""
    split = [line.partition("\t") for line in lines]
    return [
        f"{command} (exit code {code})"
        for code, _, command in split
        if not (code in MAY_END_WITH and MAY_SAY_INVALID.match(command))
        and not any(
            command.startswith(start) and code == ended and words.search(said)
            for start, ended, words in ON_A_BUSY_MACHINE
        )
    ]


def checkout(folder: Path) -> None:
    """Fills a folder with the files that a user finds in a checkout after `make studies-setup`."""
    for name in (".venv", ".cache", "java", "scripts", "python", "Makefile", "docs"):
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)


def forking(folder: Path) -> None:
    """Replaces `tlslab` of a checkout by one that starts commands by fork (`live.lab_server`)."""
    (folder / ".venv").unlink()
    for place in (".venv", ".venv/bin"):
        (folder / place).mkdir()
        for path in (ROOT / place).iterdir():
            if path.name not in ("bin", "tlslab"):
                (folder / place / path.name).symlink_to(path)
    client = [sys.executable, "-I", "-S", str(Path(__file__).with_name("forked_tlslab.py"))]
    command = folder / ".venv" / "bin" / "tlslab"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(client)} "$@"\n', "utf-8")
    command.chmod(0o755)


def carry_out(
    text: str,
    folder: Path,
    forked: bool = False,
    elsewhere: Collection[str] = (),
    timed: bool = False,
) -> list[tuple[str, float]]:
    """Runs all commands of a document in a folder; fails if a command fails.

    A long document has its commands `forked`, which takes a fraction of the processor time.
    `elsewhere`: commands that are left out, because another document has them. With `timed`, for
    documents whose commands have one line each, returns those of tlslab with their seconds.
    """
    checkout(folder)
    if forked:
        forking(folder)
    wanted = [line for line in lines_of(text) if bare(line) not in elsewhere]
    assert wanted
    log, failed, times = folder / "log", folder / "failed", folder / "times"
    failed.touch()
    times.touch()
    at = [f"__at {number}\n" if timed else "" for number in range(len(wanted) + 1)]
    script = "\n".join(f"{mark}{line}" for mark, line in zip(at, [*wanted, ""], strict=True))
    (folder / "home").mkdir()
    environment = {
        **os.environ,
        VARIABLE: "1",
        "FAILURES": str(failed),
        "TIMES": str(times),
        "TMPDIR": str(folder),
        "HOME": str(folder / "home"),
        "XDG_CONFIG_HOME": str(folder / "home" / ".config"),
    }
    if forked:
        environment |= {"COLUMNS": WIDTH, "TLSLAB_TEST_SERVER": str(server())}
    with log.open("wb") as output:
        shell = subprocess.Popen(
            ["bash", "-c", PROLOGUE + script],
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
    whole = log.read_text("utf-8", "replace")
    said = whole[-6000:]
    wrong = failures(failed.read_text("utf-8").splitlines(), whole)
    assert not wrong, "\n".join([*wrong, said])
    assert shell.returncode in (0, 1), said
    for program in programs(text):
        command = [sys.executable, "-c", program]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, program + ended.stderr
    # Such a short run may be invalid, but each of its cells must have been measured.
    without = WITHOUT_RESULT.findall(whole)
    assert not without, "\n".join([*without, said])
    starts = [float(line.split("\t")[0]) for line in times.read_text("utf-8").splitlines()]
    lasted = [after - before for before, after in pairwise(starts)]
    lines = zip(map(bare, wanted), lasted, strict=timed)
    return [(line, seconds) for line, seconds in lines if line.startswith("tlslab")]


def end(session: int) -> None:
    """Ends the programs that the document has left running: the servers of its session."""
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session:
                process.send_signal(signal.SIGKILL)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
