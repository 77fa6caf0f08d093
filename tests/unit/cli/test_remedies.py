"""Remedies of the engine that name an option, in commands without that option."""

from pathlib import Path

import pytest

from factories.folder import written
from factories.run import made_run
from tlslab import cli
from tlslab.cli.remedies import fitting


@pytest.mark.parametrize(
    ("remedy", "known", "shown"),
    [
        ("start the server", set(), "start the server"),
        ("give --allow HOST", {"--allow"}, "give --allow HOST"),
        (
            "a site needs --sni NAME",
            {"--allow"},
            "a site needs --sni NAME; --sni is an option of `tlslab load`",
        ),
        (
            "give --allow HOST, --sni NAME or --proof TOKEN",
            {"--allow"},
            "give --allow HOST, --sni NAME or --proof TOKEN; --sni and --proof are options of"
            " `tlslab load`",
        ),
        (
            "see what it takes with `tlslab-load probe HOST`, and ask for that with --group",
            {"--group"},
            "see what it takes with `tlslab probe HOST`, and ask for that with --group",
        ),
        ("ask `tlslab probe --only x`", set(), "ask `tlslab probe --only x`"),
        ("see `tlslab COMMAND --help`", set(), "see `tlslab run --help`"),
        ("see --help", set(), "see `tlslab run --help`"),
        ("give --sni NAME (see --help)", {"--sni"}, "give --sni NAME (see `tlslab run --help`)"),
    ],
)
def test_options_that_the_command_lacks_are_said_to_be_another_ones(
    remedy: str, known: set[str], shown: str
) -> None:
    assert fitting(remedy, "run", known) == shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "{run}"], "--target is an option of `tlslab run`"),
        (["compare", "a", "b", "--blocks", "5"], "--blocks is an option of `tlslab run`"),
        (["run", "groups", "--gate", "3%"], "--gate is an option of `tlslab compare`"),
    ],
)
def test_the_command_that_has_an_option_is_named(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = written(tmp_path / "one", made_run(quick=True))
    assert cli.run([each.format(run=place) for each in arguments]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert said in shown
    assert "tlslab load" not in shown


@pytest.mark.parametrize("command", ["grade", "probe"])
def test_wrong_usage_of_the_engine_names_the_help_of_the_command(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([command, "a b"]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert f"help: see `tlslab {command} --help` wrong usage: exit 2" in shown


def test_a_command_is_asked_for_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    """A host that may not be loaded: this command has no `--proof`."""
    assert cli.run(["validate", "--target", "https://192.0.2.1/"]) in (2, 3)
    shown = " ".join(capsys.readouterr().err.split())
    assert "--allow HOST" in shown
    assert ("--proof" in shown) == ("--proof is an option of `tlslab run`" in shown)
