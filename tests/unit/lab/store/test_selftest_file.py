"""The self-test that is stored with the machine's facts, and the runs to which it applies."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import tlslab
from factories.no_home import without_home
from factories.selftest import made_selftest
from tlslab.domain.errors import StoreError
from tlslab.lab.opening import machine, selftest_of
from tlslab.lab.store.selftest_file import read_selftest, selftest_file, write_selftest


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_a_kept_selftest_is_read_back() -> None:
    assert read_selftest() is None
    kept = made_selftest()
    assert write_selftest(kept) == selftest_file()
    assert read_selftest() == kept


def test_a_run_quotes_it_on_the_same_machine_with_the_same_version_only() -> None:
    here = machine()
    kept = replace(made_selftest(), tlslab=tlslab.__version__, machine=here)
    write_selftest(kept)
    assert selftest_of(here) == kept
    assert selftest_of({**here, "load_average": 7.0}) == kept
    assert selftest_of({**here, "kernel": "another"}) is None
    assert selftest_of({**here, "processor": "another"}) is None
    write_selftest(replace(kept, tlslab="0.0.1"))
    assert selftest_of(here) is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"schema": "tlslab.selftest/0"}', '{"schema": "tlslab.selftest/1"}', "\x00" * 9],
)
def test_a_damaged_file_is_one_line_and_stops_no_run(text: str) -> None:
    path = selftest_file()
    assert path
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(StoreError, match=str(path)):
        read_selftest()
    assert selftest_of(machine()) is None


def test_without_a_home_folder_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    without_home(monkeypatch)
    assert selftest_file() is None
    assert write_selftest(made_selftest()) is None
    assert read_selftest() is None
    assert selftest_of(machine()) is None


def test_a_file_that_is_too_large_is_none() -> None:
    path = write_selftest(made_selftest())
    assert path
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "more": "x" * (2 << 20)}))
    with pytest.raises(StoreError, match="is no self-test"):
        read_selftest()


def test_a_folder_that_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(StoreError, match="cannot keep the result"):
        write_selftest(made_selftest())
