"""Why perf cannot sample, in one line with its remedy."""

from pathlib import Path

import pytest

from tlslab.lab.why import perf


def program(folder: Path, text: str) -> None:
    path = folder / "perf"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_missing_perf_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert perf.why_not() == perf.NOT_INSTALLED
    assert "\n" not in perf.NOT_INSTALLED


def test_a_forbidden_perf_says_how_to_allow_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "exit 255")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert perf.why_not() == perf.FORBIDDEN
    assert "perf_event_paranoid" in perf.FORBIDDEN


def test_a_perf_that_samples_is_none_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert perf.why_not() == ""


def test_a_recorder_that_never_started_ends_at_once(tmp_path: Path) -> None:
    recorder = perf.Recorder(tmp_path / "data", (), kernel=True)
    recorder.stop()
    recorder.end()
    assert not (tmp_path / "data").exists()
