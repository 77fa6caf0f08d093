"""The reason why perf cannot sample, in one line with its remedy."""

from pathlib import Path

import pytest

from tlslab.domain.errors import CannotRunError
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
    words = "Access to performance monitoring and observability operations is limited."
    program(tmp_path, f"printf 'Error:\\n{words}\\n' >&2; exit 255")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert perf.why_not() == f"{perf.FORBIDDEN} (perf: Error: {words})"
    assert "perf_event_paranoid" in perf.FORBIDDEN


def test_a_perf_without_its_kernel_is_not_taken_for_a_missing_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "WARNING: perf not found for\\033[1m kernel 6.1.0-9\\n\\n  install linux-tools-6.1.0-9"
    program(tmp_path, f"printf '{text}' >&2; exit 2")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(perf, "_paranoid", lambda: 2)
    said = perf.why_not()
    assert "root" not in said
    assert said == (
        "perf does not work here (perf: WARNING: perf not found for [1m kernel 6.1.0-9 "
        "install linux-tools-6.1.0-9)"
    )


def test_a_silent_perf_is_forbidden_only_by_the_setting_of_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "exit 255")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(perf, "_is_root", lambda: False)
    for setting, forbidden in ((2, False), (3, True)):
        monkeypatch.setattr(perf, "_paranoid", lambda setting=setting: setting)
        assert perf.why_not().startswith(perf.FORBIDDEN) is forbidden
        assert "exit code 255" in perf.why_not()


def test_words_of_perf_are_short() -> None:
    assert len(perf._one_line("word " * 1_000)) == 200


@pytest.mark.parametrize("processors", [1, 2, 3, 8, 31, 64, 1_000])
def test_many_processors_share_the_samples_of_two(processors: int) -> None:
    hertz = perf.hertz_of(processors)
    assert 97 <= hertz <= perf.HERTZ
    assert (hertz == perf.HERTZ) == (processors <= 2)
    assert hertz == 97 or hertz * processors <= 2 * perf.HERTZ


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


def test_a_script_that_fails_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "echo nginx; printf 'no\\nsuch file' >&2; exit 3")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(CannotRunError, match="perf script: no such file"):
        perf.Recorder(tmp_path / "data", (), kernel=True).folded()
