"""The Containerfile is parsed like an engine parses it, and names existing files."""

import subprocess

import pytest

from kept.figures import ROOT
from kept.scripts import script

check = script("container_check")
STAGES = check.stages((ROOT / "Containerfile").read_text("utf-8"))


def tracked() -> list[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name]


def test_both_stages_are_of_one_release() -> None:
    # The programs of the first run, with the C library of the second.
    assert len({check.suite(stage.base) for stage in STAGES}) == 1


def test_copied_files_exist() -> None:
    files, names = tracked(), {stage.name for stage in STAGES}
    for stage in STAGES:
        for keyword, text in stage.steps:
            if keyword != "COPY":
                continue
            first, *_ = text.split()
            if first.startswith("--from="):
                assert first.removeprefix("--from=") in names - {stage.name}
            else:
                assert first == "." or first in files


def test_the_context_has_all_that_git_tracks() -> None:
    ignored = (ROOT / ".containerignore").read_text("utf-8")
    assert check.context(tracked(), ignored) == tracked()
    assert check.context(["target/a", "dist"], ignored) == []
