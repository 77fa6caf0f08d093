"""Help: one screen for each command, all options on demand, questions first."""

import re
import shlex
from typing import Any

import pytest
from typer.main import get_command

from tlslab import cli
from tlslab.cli.app import app
from tlslab.cli.help import QUESTIONS

ROOT: Any = get_command(app)

# The help of `load` is the engine's.
OWN = tuple(name for name in ROOT.commands if name != "load")

LINES = 40

# Besides --help and --help-all.
MOST_OPTIONS = 7


def printed(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.run(arguments) == 0
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def usual_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("name", OWN)
def test_the_help_of_a_command_has_one_screen(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(name, "--help", capsys=capsys)
    lines = text.strip().splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= 80
    shown = re.findall(r"^│ \*? *(--[a-z-]+)", text, re.MULTILINE)
    assert {"--help", "--help-all"} <= set(shown)
    assert len(shown) <= MOST_OPTIONS + 2
    assert f"Example: tlslab {name}" in text


@pytest.mark.parametrize("name", OWN)
def test_all_options_are_in_the_help_of_all(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Names of options may be folded at 80 columns.
    monkeypatch.setenv("COLUMNS", "200")
    text = printed(name, "--help-all", capsys=capsys)
    for param in ROOT.commands[name].params:
        for option in param.opts if param.param_type_name == "option" else []:
            assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text), option


def parsed(command: str) -> Any:
    """A documented command, parsed and not run."""
    _, name, *words = shlex.split(command.partition(" > ")[0])
    return ROOT.commands[name].make_context(name, words, resilient_parsing=False)


@pytest.mark.parametrize("name", OWN)
def test_each_example_can_be_typed(name: str) -> None:
    parsed(ROOT.commands[name].epilog.removeprefix("Example: "))


def test_tlslab_alone_has_six_questions_with_their_commands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = printed(capsys=capsys)
    assert len(QUESTIONS) == 6
    for question, command in QUESTIONS:
        assert f"{question}\n  {command}\n" in text
    assert len(text.splitlines()) <= LINES


@pytest.mark.parametrize("command", [command for _, command in QUESTIONS])
def test_the_command_of_each_question_can_be_typed(command: str) -> None:
    known = {option for each in ROOT.commands["run"].params for option in each.opts}
    if "--vary" in command and "--vary" not in known:
        pytest.skip("tlslab run has no --vary")
    parsed(command)
