"""Run folders: finished trials are there, unfinished ones are not."""

import errno
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from tlslab.domain.errors import StoreError
from tlslab.domain.run import TargetInfo
from tlslab.domain.trial import Reason, Trial
from tlslab.experiment import dumps, load, make_plan
from tlslab.lab.opening import describe
from tlslab.lab.placement import Placement
from tlslab.lab.store import RunFolder, run_folders

EXPERIMENT = load("groups", "quick")
PLAN = make_plan(EXPERIMENT, 3)
INFO = TargetInfo("reference", True, "tlslab-serve", "openssl", (0,), "127.0.0.1", "/bytes/1")
ENVIRONMENT = describe(INFO, Placement((0,), (1,)), ["tlslab", "run"], ["a warning"])
TRIAL = Trial(0, 0, 0, "cell", {"tls": "1.3"}, "2026-01-01", "failed", Reason("reset", "gone"))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", dumps(EXPERIMENT), PLAN, ENVIRONMENT)


def test_plan_and_environment_are_read_back_as_they_were(folder: RunFolder) -> None:
    again = RunFolder.open(folder.path)
    assert (again.plan(), again.environment()) == (PLAN, ENVIRONMENT)
    assert again.experiment_text() == dumps(EXPERIMENT)
    assert again.trials() == ()


def test_trials_are_read_back_and_the_reasons_class_has_its_own_name(folder: RunFolder) -> None:
    second = replace(TRIAL, trial=1, reason=None)
    folder.append(TRIAL)
    folder.append(second)
    assert folder.trials() == (TRIAL, second)
    line = json.loads((folder.path / "trials.jsonl").read_text().splitlines()[0])
    assert line["reason"] == {"class": "reset", "message": "gone"}


@pytest.mark.parametrize("kept", range(0, 150, 7))
def test_a_torn_last_line_is_no_trial_and_does_not_spoil_the_next(
    folder: RunFolder, kept: int
) -> None:
    folder.append(TRIAL)
    path = folder.path / "trials.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:kept])
    assert folder.trials() == (TRIAL,)
    third = replace(TRIAL, trial=2)
    folder.append(third)
    assert folder.trials() == (TRIAL, third)


def test_a_torn_line_longer_than_a_read_is_taken_back(folder: RunFolder) -> None:
    folder.append(TRIAL)
    path = folder.path / "trials.jsonl"
    path.write_bytes(path.read_bytes() + b"x" * 200_000)
    folder.append(replace(TRIAL, trial=1))
    assert [trial.trial for trial in folder.trials()] == [0, 1]


def test_a_spoiled_line_within_is_an_error_with_its_number(folder: RunFolder) -> None:
    folder.append(TRIAL)
    path = folder.path / "trials.jsonl"
    path.write_bytes(path.read_bytes() + b"{}\n")
    with pytest.raises(StoreError, match=r"trials\.jsonl:2: its schema is None"):
        folder.trials()


def test_a_newer_format_is_refused_and_added_fields_are_passed_over(folder: RunFolder) -> None:
    path = folder.path / "plan.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "added": 1}))
    assert folder.plan() == PLAN
    path.write_text(json.dumps({**data, "schema": "tlslab.plan/2"}))
    with pytest.raises(StoreError, match=r"this tlslab reads 'tlslab\.plan/1'"):
        folder.plan()


def test_a_folder_with_a_run_is_not_overwritten(tmp_path: Path) -> None:
    # The process that made the folder has finished with it.
    RunFolder.create(tmp_path / "run", "", PLAN, ENVIRONMENT)
    with pytest.raises(StoreError, match="already holds a run"):
        RunFolder.create(tmp_path / "run", "", PLAN, ENVIRONMENT)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no run"):
        RunFolder.open(tmp_path)


def test_a_file_in_the_way_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Not a directory") as caught:
        RunFolder.create(tmp_path / "file" / "run", "", PLAN, ENVIRONMENT)
    assert caught.value.exit_code == 3
    assert "\n" not in caught.value.message


def test_lost_and_damaged_trials_are_reported(folder: RunFolder) -> None:
    path = folder.path / "trials.jsonl"
    assert "is not there" in folder.damages()[0]
    path.write_text("")
    assert "is empty" in folder.damages()[0]
    folder.append(TRIAL)
    assert folder.damages() == ()
    path.write_bytes(path.read_bytes() + b'{"schema')
    (reported,) = folder.damages()
    assert "the last line is cut off; 1 trial before it" in reported
    assert f"--resume {folder.path}" in reported


@pytest.mark.parametrize("name", ["environment.json", "experiment.toml"])
def test_a_missing_file_is_named_with_a_remedy_that_fits(folder: RunFolder, name: str) -> None:
    (folder.path / name).unlink()
    read = folder.environment if name == "environment.json" else folder.experiment_text
    with pytest.raises(StoreError, match=f"{name} is missing") as caught:
        read()
    assert "make room" not in caught.value.remedy
    assert "damaged" in caught.value.remedy


@pytest.mark.parametrize("kept", [0, 1, 100])
def test_a_torn_file_is_named_as_damaged(folder: RunFolder, kept: int) -> None:
    path = folder.path / "environment.json"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(StoreError, match=r"environment\.json") as caught:
        folder.environment()
    assert "damaged" in caught.value.remedy


def test_no_folder_is_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such folder"):
        RunFolder.open(tmp_path / "none")


LONG_NAME = "x" * 300


@pytest.mark.parametrize("act", [RunFolder.open, RunFolder.resume])
def test_a_name_that_is_too_long_is_one_clear_line(act: Callable[[Path], RunFolder]) -> None:
    with pytest.raises(StoreError, match="File name too long") as caught:
        act(Path(LONG_NAME))
    assert caught.value.remedy == "name another folder"


def refused(self: Path, *, follow_symlinks: bool = True) -> NoReturn:
    """Stands for `Path.stat` in a folder without permission; root may look into all."""
    raise PermissionError(errno.EACCES, "Permission denied", str(self))


def test_a_folder_without_permission_is_one_clear_line(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "stat", refused)
    acts: list[Callable[[], object]] = [
        lambda: RunFolder.open(folder.path),
        lambda: RunFolder.create(folder.path, "", PLAN, ENVIRONMENT),
        folder.damages,
        folder.trials,
        folder.stacks,
    ]
    for act in acts:
        with pytest.raises(StoreError, match="Permission denied") as caught:
            act()
        assert "the right" in caught.value.remedy


def test_a_folder_that_cannot_be_looked_into_does_not_hide_those_beside_it(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = folder.path.with_name("closed")
    closed.mkdir()
    looked = Path.is_file

    def is_file(self: Path) -> bool:
        return refused(self) if self.parent == closed else looked(self)

    monkeypatch.setattr(Path, "is_file", is_file)
    assert run_folders([folder.path.parent]) == [closed, folder.path]
