"""Every command that README, tutorial and how-to show is run as it stands, in its order.

Each document has a fresh folder that looks like a checkout, and one shell for all of its blocks;
programs in Python come after them. TLSLAB_SHORT_RUNS cuts the lab's runs down, and a load of three
seconds by `tlslab-load` is one of a second. A block below `<!-- not run: REASON -->` is left out.
A command that README shows, too, is run there. The studies that a document shows are judged by
their run folders.
"""

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from live.studies import STUDIES, assert_whole, made_by
from tlslab.experiment.short import VARIABLE

ROOT = Path(__file__).parents[2]

# Blocks that cannot be run here, by document: one more is a decision, and so is one less.
NOT_RUN = {
    "README.md": 1,
    "docs/tutorial.md": 1,
    "docs/how-to.md": 9,
}

# The studies that README makes, just as it shows them: their run folders are judged, too.
SHOWN = {"offload", "suites", "runtimes", "capacity"}

LIMIT_S = 900

# Ends whatever is still at work in the background, and says which lines failed.
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


def checkout(folder: Path) -> Path:
    """A folder with what a user finds in a checkout after `make studies-setup`."""
    for name in (".venv", ".cache", "java", "scripts", "python", "Makefile", "docs"):
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.mark.parametrize("document", NOT_RUN)
def test_blocks_that_are_not_run_are_few_and_have_a_reason(document: str) -> None:
    left_out = [b for b in blocks((ROOT / document).read_text("utf-8")) if b.reason is not None]
    assert len(left_out) == NOT_RUN[document]
    assert all(len(block.reason or "") > 10 for block in left_out)


def test_no_block_escapes_for_want_of_a_name() -> None:
    for document in NOT_RUN:
        text = (ROOT / document).read_text("utf-8")
        fences = re.findall(r"^```(.*)$", text, re.MULTILINE)[::2]
        assert set(fences) <= {"sh", "python", "", "json", "toml", "yaml"}, document


@pytest.mark.timeout(LIMIT_S + 60)
@pytest.mark.parametrize("document", NOT_RUN)
def test_every_command_of_a_document_works_as_it_stands(document: str, tmp_path: Path) -> None:
    folder = checkout(tmp_path)
    wanted = lines_of(document)
    assert wanted
    log, failed = tmp_path / "log", tmp_path / "failed"
    failed.touch()
    (tmp_path / "home").mkdir()
    environment = {
        **os.environ,
        VARIABLE: "1",
        "FAILURES": str(failed),
        "TMPDIR": str(tmp_path),
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "home" / ".config"),
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
    if document == "README.md":
        assert judged(folder / "runs") == SHOWN


def judged(runs: Path) -> set[str]:
    """The studies that were made just as they are shown; each is whole."""
    names = set()
    for study in (each for each in STUDIES if each.shown):
        for folder in made_by(runs, study.shown):
            assert_whole(folder, study)
            names.add(study.name)
    return names


def test_every_study_that_is_made_in_full_on_request_only_is_shown_by_a_document() -> None:
    assert {study.name for study in STUDIES if study.shown} == SHOWN


def end(session: int) -> None:
    """Ends what the document has left at work: the servers of its session."""
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session:
                process.send_signal(signal.SIGKILL)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
