"""A cluster that cannot be started is reported in one line."""

from pathlib import Path

import pytest

from factories.no_home import without_home
from tlslab.domain.errors import CannotRunError
from tlslab.servers import signer
from tlslab.servers.signer import ClusterSetting, find_signer, signing_cluster


def _script(folder: Path, text: str) -> str:
    program = folder / "program"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return str(program)


def _setting(folder: Path) -> ClusterSetting:
    return ClusterSetting(folder / "cluster", folder / "key.pem", isolated=False)


def test_the_program_is_where_it_was_built_or_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TLSLAB_SIGNER", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert find_signer() is None
    built = tmp_path / "tlslab" / "signer" / "current"
    built.mkdir(parents=True)
    _script(built, "")
    (built / "program").rename(built / "tlslab-signer")
    assert find_signer() == str(built / "tlslab-signer")
    named = _script(tmp_path, "")
    monkeypatch.setenv("TLSLAB_SIGNER", named)
    assert find_signer() == named
    monkeypatch.delenv("TLSLAB_SIGNER")
    monkeypatch.delenv("XDG_CACHE_HOME")
    without_home(monkeypatch)
    assert find_signer() is None


def test_without_the_program_it_is_said_how_to_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLSLAB_SIGNER", str(tmp_path / "none"))
    with (
        pytest.raises(CannotRunError, match="tlslab-signer is not installed") as caught,
        signing_cluster(_setting(tmp_path)),
    ):
        pass
    assert "scripts/build-signer.sh" in caught.value.remedy


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo tlslab-signer: no luck >&2; exit 1", "tlslab-signer: no luck"),
        ("exit 0", "it says nothing"),
        ("echo good morning; sleep 60", "it says 'good morning'"),
    ],
)
def test_a_node_that_does_not_start_says_why(
    script: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signer, "find_signer", lambda: _script(tmp_path, script))
    (tmp_path / "key.pem").write_text("")
    with (
        pytest.raises(CannotRunError, match="the signing node does not start") as caught,
        signing_cluster(_setting(tmp_path)),
    ):
        pass
    assert words in caught.value.message
