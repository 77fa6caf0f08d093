"""The Containerfile is parsed like an engine parses it, and names existing files."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def loaded() -> ModuleType:
    path = ROOT / "scripts/container_check.py"
    spec = importlib.util.spec_from_file_location("container_check", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses looks the module up
    spec.loader.exec_module(module)
    return module


check = loaded()
STAGES = check.stages((ROOT / "Containerfile").read_text("utf-8"))


def tracked() -> list[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name]


def test_steps_go_on_over_lines_and_comments_are_none() -> None:
    text = (
        "# a comment\nFROM debian:trixie-slim AS one\nRUN a \\\n    && b\n\nFROM rust:1-bookworm\n"
    )
    one, two = check.stages(text + 'ENV PATH="/opt/bin:$PATH" A=b\n')
    assert (one.base, one.name, one.steps) == ("debian:trixie-slim", "one", [("RUN", "a && b")])
    assert (two.name, check.suite(two.base), check.suite(one.base)) == ("1", "bookworm", "trixie")
    assert check.assignments(two.steps[0][1]) == {"PATH": "/opt/bin:$PATH", "A": "b"}
    with pytest.raises(check.CheckError, match="unknown step: HEALTHCHECK"):
        check.stages("FROM debian:trixie\nHEALTHCHECK none")
    with pytest.raises(check.CheckError, match="no release"):
        check.suite("alpine:3")


def test_both_stages_are_of_one_release() -> None:
    # The programs of the first run, with the C library of the second.
    assert len({check.suite(stage.base) for stage in STAGES}) == 1


def test_what_is_copied_is_there() -> None:
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
    assert check.context(["target/a", "crates/target.rs", "dist"], ignored) == ["crates/target.rs"]
