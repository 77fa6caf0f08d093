"""At its end a proof checks that the live server has its baseline configuration again."""

import sys
from pathlib import Path

import pytest

from tlslab.domain.errors import CannotRunError
from tlslab.lab.proof.switch import Switch
from tlslab.servers.reverter import Command


def switch(state: Path, back: str) -> Switch:
    """A switch of a stand-in: a file with the server's configuration, which the commands write."""

    def has(name: str) -> Command:
        return Command((sys.executable, "-c", f"open({str(state)!r}, 'w').write({name!r})"), 20)

    def wrong(name: str) -> str | None:
        found = state.read_text()
        return None if found == name else f"it is the {found}"

    return Switch(
        has("candidate"), has(back), wrong, observer=lambda event: None, ready_s=0.5, settle_s=0
    )


def test_the_server_is_given_back_and_asked(tmp_path: Path) -> None:
    state = tmp_path / "state"
    made = switch(state, "baseline")
    made.to("candidate")
    made.finish()
    assert state.read_text() == "baseline"


def test_a_revert_that_changes_nothing_is_found_out(tmp_path: Path) -> None:
    """The revert ends with 0, but the server still has the candidate."""
    made = switch(tmp_path / "state", "candidate")
    made.to("candidate")
    with pytest.raises(CannotRunError, match="THE SERVER IS NOT AS IT WAS") as raised:
        made.finish()
    assert "the command was: " in raised.value.remedy


def test_a_server_that_was_not_changed_is_not_asked(tmp_path: Path) -> None:
    switch(tmp_path / "none", "baseline").finish()
