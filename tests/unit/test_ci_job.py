"""The documented job for GitHub Actions: valid YAML, and commands that exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tlslab import cli

FOLDER = Path(__file__).parents[2] / "docs" / "ci"
JOB = FOLDER / "github-actions.yml"
GATE = FOLDER / "gate.sh"

# A command in a line of a script, up to its end.
TLSLAB = re.compile(r"^\s*tlslab +(.*?)(?: *\|\|.*)?$", re.MULTILINE)


def job() -> dict[Any, Any]:
    loaded = yaml.safe_load(JOB.read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def steps() -> Iterator[dict[str, Any]]:
    for each in job()["jobs"].values():
        yield from each["steps"]


def scripts() -> list[str]:
    return [step["run"] for step in steps() if "run" in step]


def commands() -> list[list[str]]:
    texts = [*scripts(), GATE.read_text("utf-8").replace("\\\n", "")]
    return [shlex.split(line) for text in texts for line in TLSLAB.findall(text)]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_its_commands_and_their_options_exist(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert cli.run([words[0], "--help-all"]) == 0
    shown = capsys.readouterr().out
    for option in (word for word in words if word.startswith("--")):
        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", shown), option
