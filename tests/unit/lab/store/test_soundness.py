"""Damage that keeps the form of the JSON: it is reported with file and line when it is read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from factories.folder import written
from factories.run import made_run
from tlslab.domain.distribution import Distribution
from tlslab.domain.errors import StoreError
from tlslab.experiment import load, with_levels
from tlslab.lab.store import RunFolder
from tlslab.lab.store.selftest_file import read_selftest

FEW = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519",)}

Spoil = Callable[[dict[str, Any]], None]


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return written(tmp_path / "run", made_run(experiment=with_levels(load("groups"), FEW)))


def spoil_trial(path: Path, number: int, spoil: Spoil) -> None:
    file = path / "trials.jsonl"
    lines = file.read_text().splitlines()
    data = json.loads(lines[number])
    spoil(data)
    lines[number] = json.dumps(data)
    file.write_text("\n".join(lines) + "\n")


def flip(text: str, place: int) -> str:
    """The text with one character of its base64 changed."""
    other = "A" if text[place] != "A" else "B"
    return text[:place] + other + text[place + 1 :]


def spoil_histogram(place: int) -> Spoil:
    def spoil(trial: dict[str, Any]) -> None:
        found = trial["runs"]["capacity"]["record"]["histograms"]
        found["service"] = flip(found["service"], place)

    return spoil


@pytest.mark.parametrize("place", [0, 7, 20, 60, -10])
def test_a_changed_byte_of_a_histogram_is_named_with_its_line(path: Path, place: int) -> None:
    spoil_trial(path, 2, spoil_histogram(place))
    with pytest.raises(StoreError) as caught:
        RunFolder.open(path).trials()
    said = f"{path}/trials.jsonl:3: capacity: the histogram 'service' is damaged"
    assert caught.value.message == said
    assert "--resume" in caught.value.remedy


def set_started(text: str) -> Spoil:
    return lambda trial: trial.update(started=text)


def set_seconds(value: float) -> Spoil:
    return lambda trial: trial["runs"]["capacity"]["server"].update(seconds=value)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (set_started("yesterday"), "no time in ISO 8601: 'yesterday'"),
        (set_seconds(0), "capacity: the server's seconds are 0"),
        (set_seconds(-1.5), "capacity: the server's seconds are -1.5"),
        (set_seconds(float("nan")), "NaN is not a finite number"),
        (set_seconds(float("inf")), "Infinity is not a finite number"),
        (set_seconds(10**400), "not a Trial"),
    ],
)
def test_an_unusable_trial_is_refused_with_its_line(path: Path, spoil: Spoil, words: str) -> None:
    spoil_trial(path, 0, spoil)
    with pytest.raises(StoreError, match=rf"trials\.jsonl:1: {words}"):
        RunFolder.open(path).trials()


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_an_environment_has_finite_numbers(path: Path, number: str) -> None:
    file = path / "environment.json"
    file.write_text(file.read_text().replace('"created"', f'"extra": {number}, "created"'))
    with pytest.raises(StoreError, match=rf"environment\.json: {number} is not a finite number"):
        RunFolder.open(path).environment()


def test_a_kept_selftest_has_finite_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = tmp_path / "tlslab" / "selftest.json"
    file.parent.mkdir()
    file.write_text('{"schema": NaN}')
    with pytest.raises(StoreError, match="is no self-test"):
        read_selftest()


@pytest.mark.parametrize("text", ["", "A", "AAAA", "HISTFAAA", "nicht"])
def test_a_malformed_histogram_is_an_error_of_the_store(text: str) -> None:
    with pytest.raises(StoreError, match="a histogram of times cannot be decoded"):
        Distribution.decode(text)
