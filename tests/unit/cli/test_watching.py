"""The options by which a run can be watched."""

from pathlib import Path
from typing import Any

import pytest
import typer

from factories.live import Watched, pace, totals
from tlslab.cli.app import app
from tlslab.cli.carrying_out import both
from tlslab.cli.load import command
from tlslab.cli.running import options_of
from tlslab.cli.watching import ANYWHERE, Watching, spelled_out, watched
from tlslab.domain import events
from tlslab.domain.command_line import Address
from tlslab.domain.errors import CannotRunError, UsageError


def test_the_word_after_live_is_not_its_address() -> None:
    line = ["run", "--live", "groups", "--metrics", "127.0.0.1:9464", "--live=[::1]:80"]
    assert spelled_out(line)[1:3] == ["--live=127.0.0.1:0", "groups"]
    assert spelled_out(line)[3:] == line[3:]


def test_a_resumed_run_reads_the_command_as_it_was_meant() -> None:
    group = typer.main.get_command(app)
    root = group.make_context("tlslab", ["run"], resilient_parsing=True)
    run: Any = group.get_command(root, "run")  # type: ignore[attr-defined]
    words = spelled_out(["run", "groups", "--live", "--ca", "ca.pem"])
    found = options_of(run.make_context("run", [], parent=root), ("tlslab", *words))
    assert (found["page"], found["authority"]) == (ANYWHERE, Path("ca.pem"))


def test_addresses_are_checked_before_anything_starts() -> None:
    assert Watching.of(None, None) == Watching()
    assert not Watching.of(None, None).is_wanted
    assert Watching.of(":1", "h:2") == Watching(
        metrics=Address("127.0.0.1", 1), page=Address("h", 2)
    )
    with pytest.raises(UsageError, match="--metrics 9464: not an address"):
        Watching.of("9464", None)


@pytest.mark.parametrize("mode", [["probe", "h"], ["--preflight", "URL"], ["schema", "run"]])
def test_modes_without_load_cannot_be_watched(mode: list[str]) -> None:
    with pytest.raises(UsageError, match="--metrics has no place in the engine's own output"):
        command([*mode, "--metrics", ":0"])


def test_the_terminal_and_the_watchers_see_the_same() -> None:
    seen: list[events.Event] = []
    state = Watched().state
    event = events.Rate("c", "load", pace(1.0, totals(100)))
    both(seen.append, state)(event)
    assert seen == [event]
    assert state.snapshot().completed == 100


def test_watchers_hear_of_an_error_that_ends_a_run() -> None:
    with pytest.raises(CannotRunError), watched("x", Watching()) as state:
        raise CannotRunError("no server")
    ended = state.snapshot().ended
    assert ended is not None
    assert ended.words == "it could not be done: no server"


def test_addresses_are_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with watched("x", Watching(metrics=Address("127.0.0.1", 0), page=ANYWHERE)):
        pass
    metrics, page = capsys.readouterr().err.splitlines()
    assert metrics.startswith("metrics: http://127.0.0.1:")
    assert page.startswith("live page: http://127.0.0.1:")
    assert not metrics.endswith(":0/metrics")
