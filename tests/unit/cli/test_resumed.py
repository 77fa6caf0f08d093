"""`tlslab run --resume DIR` takes over the options of the command that started the run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from tlslab.cli.app import app
from tlslab.cli.proof_options import CLIENT
from tlslab.cli.running import options_of, refuse_commands
from tlslab.domain.errors import UsageError
from tlslab.domain.proof_settings import ProofSettings
from tlslab.experiment import dumps, loads
from tlslab.experiment.proof import proof_experiment


def options(*command: str) -> dict[str, Any]:
    """The options that a resumed run takes from an earlier command."""
    group = typer.main.get_command(app)
    root = group.make_context("tlslab", ["run"], resilient_parsing=True)
    run = group.get_command(root, "run")  # type: ignore[attr-defined]
    return options_of(run.make_context("run", [], parent=root), ("tlslab", *command))


def test_a_live_proof_keeps_whom_it_trusts_and_where_it_may_go() -> None:
    found = options(
        "prove", "--url", "https://a.example/", "--apply", "a", "--revert", "b",
        "--ca", "ca.pem", "--allow", "a.example", "--allow", "b.example",
        "--server-metrics", "http://a.example:9100/metrics",
    )  # fmt: skip
    assert found["authority"] == Path("ca.pem")
    assert found["allow"] == ["a.example", "b.example"]
    assert found["server_metrics"] == "http://a.example:9100/metrics"
    assert not found["insecure"]
    assert options("prove", "--url", "https://a.example/", "--insecure")["insecure"]


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("run groups --ca ca.pem --ready 7", {"authority": Path("ca.pem"), "ready_s": 7}),
        ("run groups --proof 0123456789abcdef", {"proof": "0123456789abcdef"}),
        ("prove --url https://a.example/ --settle 5 --ready 90", {"settle_s": 5, "ready_s": 90}),
    ],
)
def test_a_run_keeps_its_own_options(command: str, kept: dict[str, Any]) -> None:
    assert options(*command.split()).items() >= kept.items()


def test_another_command_has_none() -> None:
    assert options("selftest", "--ca", "x") == {}
    assert options() == {}


def test_a_file_with_commands_is_not_run() -> None:
    """The commands would run on the reader's machine before anything is reported about them."""
    settings = ProofSettings("https://a.example/", CLIENT, 0.05, 0.5, apply="a", revert="b")
    with pytest.raises(UsageError, match="with the commands of a live proof") as raised:
        refuse_commands(loads(dumps(proof_experiment(settings)), "f"))
    assert "run --resume DIR" in raised.value.remedy
    refuse_commands(proof_experiment(replace(settings, apply="", revert="")))
