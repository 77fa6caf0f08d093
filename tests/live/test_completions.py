"""Completions in the shells themselves: the results of bash, zsh and fish for part of a word."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tlslab.servers.programs import require_program

LIMIT_S = 60

# Calls bash's function for the command like bash does, with the words of a line.
BASH = r"""
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
function=$(complete -p "$1")
function=${function##*-F }
"${function%% *}" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""

FISH = "source $argv[1]; complete --do-complete $argv[2]"

# An interactive zsh: Tab completes, Control-T saves the current line.
ZSH = r"""
PROMPT=
autoload -Uz compinit && compinit -u -D
source {script}
bindkey '^I' complete-word
keep-line() {{
    print -r -- "$BUFFER" > {kept}
    BUFFER=exit
    zle .accept-line
}}
zle -N keep-line
bindkey '^T' keep-line
"""
KEYS = "\t\x14"

# Types on a terminal of that zsh, until it ends.
TYPED = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "source $1"
zpty -w -n shell "$2"
while zpty -r shell shown; do :; done
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Variables of a shell that finds the programs, and has none of the user's settings."""
    folder = tmp_path / "bin"
    folder.mkdir()
    lab = folder / "tlslab"
    lab.write_text(f'#!/bin/sh\nexec {sys.executable} -m tlslab "$@"\n', "utf-8")
    lab.chmod(0o755)
    for name in ("tlslab-load", "tlslab-serve"):
        (folder / name).symlink_to(require_program(name))
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    path = f"{folder}:{os.environ['PATH']}"
    return {**os.environ, **home, "PATH": path, "TERM": "vt100"}


def said(line: list[str], environment: dict[str, str]) -> str:
    """The standard output of a command."""
    done = subprocess.run(
        line, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    return done.stdout


def completed(shell: str, script: Path, words: list[str], environment: dict[str, str]) -> list[str]:
    """The shell's completions for the last word; for zsh, which types it, the completed word."""
    if shell == "bash":
        line = ["bash", "--norc", "-c", BASH, "bash", str(script), *words]
        return said(line, environment).splitlines()
    if shell == "fish":
        line = ["fish", "--no-config", "-c", FISH, str(script), " ".join(words)]
        return [found.split("\t")[0] for found in said(line, environment).splitlines()]
    setting, kept = script.with_name("setting"), script.with_name("kept")
    setting.write_text(ZSH.format(script=script, kept=kept), "utf-8")
    said(["zsh", "-f", "-c", TYPED, "zsh", str(setting), " ".join(words) + KEYS], environment)
    return kept.read_text("utf-8").split()[len(words) - 1 :]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (["tlslab", "ru"], "run"),
        (["tlslab", "run", "gr"], "groups"),
        (["tlslab-load", "--handsh"], "--handshake-only"),
        (["tlslab-serve", "--allow-o"], "--allow-obsolete"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_shell_completes_the_word(
    shell: str, words: list[str], whole: str, environment: dict[str, str], tmp_path: Path
) -> None:
    how = "completion" if words[0] == "tlslab" else "--completion"
    script = tmp_path / "script"
    script.write_text(said([words[0], how, shell], environment), "utf-8")
    assert completed(shell, script, words, environment) == [whole]
