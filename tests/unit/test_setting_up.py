"""Setting a checkout up: the choice of the Python, and the end of a step."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIND_PYTHON = ROOT / "scripts" / "find-python.sh"


def pretend(folder: Path, name: str, version: str, code: int = 0) -> None:
    """A Python that reports this version, or fails like a shim without its Python."""
    python = folder / name
    python.write_text(f'#!/bin/sh\ncase "$2" in *"!= \'{version}\'"*) exit {code};; esac\nexit 1\n')
    python.chmod(0o755)


def found(folder: Path, *versions: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(FIND_PYTHON), *versions],
        env={"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder), "PYENV_ROOT": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_newest_python_that_runs_is_taken(tmp_path: Path) -> None:
    pretend(tmp_path, "python3.11", "3.11")
    pretend(tmp_path, "python3.12", "3.12")
    pretend(tmp_path, "python3.13", "3.13", code=127)
    assert found(tmp_path).stdout.strip() == str(tmp_path / "python3.12")
    assert found(tmp_path, "3.11").stdout.strip() == str(tmp_path / "python3.11")


@pytest.mark.parametrize(("value", "given"), [("", False), ("1", True)])
def test_the_environment_leaves_openssl_out_of_the_package(
    tmp_path: Path, value: str, given: bool
) -> None:
    cargo = tmp_path / "cargo"
    asked = tmp_path / "asked"
    script = f'#!/bin/sh\n[ "$1" = build ] || exec cargo "$@"\necho "$@" >{asked}\nexit 1\n'
    cargo.write_text(script, "utf-8")
    cargo.chmod(0o755)
    environment = {**os.environ, "CARGO": str(cargo), "TLSLAB_WITHOUT_OPENSSL": value}
    command = [sys.executable, "setup.py", "--quiet", "build_rust"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    assert done.returncode != 0
    words = asked.read_text("utf-8").split()
    assert "tlslab-load" in words
    assert ("--no-default-features" in words) is given
