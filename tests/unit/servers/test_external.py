"""Commands that configure a server: reading, filling in, running and ending them."""

import os
import shlex
import time
from pathlib import Path

import psutil
import pytest

from tlslab.domain.errors import UsageError
from tlslab.servers.external import HookError, parse_hook, run_command

FACTORS = ("tls", "group", "suite")
P384 = {"tls": "1.2", "group": "P-384", "suite": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}


def test_each_level_is_one_word() -> None:
    hook = parse_hook("set --group={group} {tls} '{group_openssl}' {suite_openssl}", FACTORS)
    filled = ["set", "--group=P-384", "1.2", "secp384r1", "ECDHE-RSA-AES128-GCM-SHA256"]
    assert hook.command(P384) == filled
    assert hook.fields == {"tls", "group", "suite"}


@pytest.mark.parametrize("level", ["a b", "$(reboot)", "x; y", "it's", "`z`", "-rf"])
def test_a_level_never_becomes_part_of_a_command_line(level: str) -> None:
    hook = parse_hook("ssh host 'set {group} && restart' {group}", FACTORS)
    *_, line, word = hook.command({"group": level})
    assert word == level
    assert shlex.split(line) == ["set", level, "&&", "restart"]


def test_brackets_are_written_twice() -> None:
    hook = parse_hook("awk '{{ print }}' {{group}}", FACTORS)
    assert hook.command(P384) == ["awk", "{ print }", "{group}"]
    assert hook.fields == frozenset()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the command is empty"),
        ("set 'unfinished", "No closing quotation"),
        ("set {curve}", "no factor 'curve'"),
        ("set {}", "no factor ''"),
    ],
)
def test_a_malformed_hook_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_hook(text, FACTORS)


def test_a_command_has_the_factors_in_its_environment(tmp_path: Path) -> None:
    script = tmp_path / "show"
    script.write_text('#!/bin/sh\necho "$TLSLAB_TLS $TLSLAB_GROUP_OPENSSL" > "$1"\n')
    script.chmod(0o755)
    parse_hook(f"{script} {tmp_path}/levels", FACTORS).run(P384)
    assert (tmp_path / "levels").read_text() == "1.2 secp384r1\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("sh -c 'echo went wrong >&2; exit 4'", "ended with 4: went wrong$"),
        ("sh -c 'kill -9 $$'", "was ended by signal 9: it said nothing$"),
        ("no-such-command-anywhere", "no-such-command-anywhere.*not found"),
    ],
)
def test_a_command_that_fails_is_reported_with_its_words(command: str, words: str) -> None:
    with pytest.raises(HookError, match=words):
        parse_hook(command, FACTORS).run(P384)


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    hook = parse_hook(f"sh -c 'sleep 60 & echo $! > {pid}; wait'", FACTORS, timeout_s=1)
    with pytest.raises(HookError, match="took longer than 1 s"):
        hook.run(P384)
    deadline = time.monotonic() + 10
    path = Path(f"/proc/{int(pid.read_text())}/stat")
    while _runs(path) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(path)


def _runs(stat: Path) -> bool:
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_command_does_not_wait_for_its_background_processes(tmp_path: Path) -> None:
    """A server that the command starts keeps its standard output, and continues to run."""
    pid = tmp_path / "pid"
    hook = parse_hook(f"sh -c 'sleep 60 & echo $! > {pid}'", FACTORS, timeout_s=30)
    hook.run(P384)
    started = int(pid.read_text())
    assert _runs(Path(f"/proc/{started}/stat"))
    os.kill(started, 9)


def test_a_command_of_another_user_is_named_where_it_may_not_be_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Like `sudo`, which belongs to root; the kernel's refusal is that of `killpg`."""

    def refused(group: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "killpg", refused)
    began = time.monotonic()
    with pytest.raises(HookError, match=r"took longer than 0\.2 s and may not be killed"):
        run_command(("sleep", "20"), 0.2, "--configure", {})
    assert time.monotonic() - began < 18
    monkeypatch.undo()
    for left in psutil.Process().children():
        if left.name() == "sleep":
            left.kill()
            left.wait(10)
