"""Setting a checkout up: the choice of the Python, and the progress line."""

import importlib.util
import os
import pty
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import psutil
import pytest

ROOT = Path(__file__).parents[2]
PROGRESS = ROOT / "scripts" / "progress.py"
FIND_PYTHON = ROOT / "scripts" / "find-python.sh"


@pytest.fixture(scope="module")
def progress() -> ModuleType:
    spec = importlib.util.spec_from_file_location("progress", PROGRESS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def test_a_python_of_pyenv_counts(tmp_path: Path) -> None:
    pretend(tmp_path, "python3.11", "3.11")
    installed = tmp_path / "versions" / "3.13.0" / "bin"
    installed.mkdir(parents=True)
    pretend(installed, "python3", "3.13")
    assert found(tmp_path).stdout.strip() == str(installed / "python3")


def test_without_a_python_the_remedy_is_said(tmp_path: Path) -> None:
    done = found(tmp_path, "3.99")
    assert done.returncode == 3
    assert "install one" in done.stderr


def test_the_line_moves_in_a_terminal() -> None:
    master, slave = pty.openpty()
    command = [sys.executable, str(PROGRESS), "slow", "--", "sh", "-c", "echo step one; sleep 2"]
    done = subprocess.run(command, stdout=slave, check=False)
    os.close(slave)
    said = os.read(master, 100_000).decode()
    os.close(master)
    assert done.returncode == 0
    moments = [part for part in said.split("\r") if "step one" in part]
    assert len(moments) >= 2
    assert moments[0] != moments[-1]
    assert said.rstrip().endswith("s: slow")


def test_a_command_that_succeeds_says_nothing_of_its_own() -> None:
    command = [sys.executable, str(PROGRESS), "quiet", "--", "echo", "chatter"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "chatter" not in done.stdout + done.stderr


def test_a_command_that_fails_shows_its_last_lines_and_keeps_its_code() -> None:
    script = "for i in $(seq 100); do echo line $i; done; exit 3"
    command = [sys.executable, str(PROGRESS), "broken", "--", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "line 100\n" in done.stderr
    assert "line 1\n" not in done.stderr
    assert "failed in" in done.stdout


def test_a_command_that_is_cancelled_ends_with_what_it_started_and_says_nothing(
    progress: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = f"sleep 60 & echo $! > {tmp_path}/pid; wait"
    command = progress.Command(["sh", "-c", script])
    with ThreadPoolExecutor(1) as beside, progress.Progress("two jobs") as line:
        code = beside.submit(command.run, line, "slow")
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.02)
        command.cancel()
        assert code.result(timeout=20) != 0
    assert "failed:" not in capfd.readouterr().err
    started = int((tmp_path / "pid").read_text())
    assert not psutil.pid_exists(started) or psutil.Process(started).status() == "zombie"


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


def test_progress_of_cargo_counts_crates(progress: ModuleType) -> None:
    said = b"   Compiling libc v0.2\n    Building [===>   ] 97/143: openssl-sys(build), cc\r"
    assert progress.Cargo([]).at(said) == "97 of 143 crates: openssl-sys(build), cc"
    assert progress.Cargo([]).at(b"  Downloading crates ...\n") == "  Downloading crates ..."
    assert progress.plain_lines(b"   Compiling a\r    Building [=> ] 1/2: b\rerror: no\n") == [
        "error: no"
    ]


def test_each_step_leaves_its_seconds(tmp_path: Path) -> None:
    stages = tmp_path / "stages"
    environment = {**os.environ, "TLSLAB_STAGES": str(stages)}
    for command in (
        [sys.executable, str(PROGRESS), "packages", "--", "true"],
        [str(ROOT / "scripts" / "announce.sh"), tmp_path.name, "begin", "checks (some minutes)"],
        [str(ROOT / "scripts" / "announce.sh"), tmp_path.name, "end", "checks"],
    ):
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    lines = [line.split("\t") for line in stages.read_text("utf-8").splitlines()]
    assert [title for _, title in lines] == ["packages", "checks"]
    assert all(seconds.isdigit() for seconds, _ in lines)
