"""Makes .venv with everything that users need: the Python packages, both programs, the package
tlslab.

The packages are fetched while cargo compiles, and tlslab's own is prepared at the same time: its
build asks cargo for the programs, and therefore waits for them. Run by `make setup`, with the
Python for .venv; needs only the standard library.
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from progress import Cargo, Command, Progress

ROOT = Path(__file__).parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
# Marks that the packages of the lock file are in .venv; the Makefile has another mark for the rest.
STAMP = VENV / ".python"
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install")
EDITABLE = ("--no-build-isolation", "--no-deps", "--editable", ".")


class FailedError(Exception):
    """A step ended with this exit code and has reported the reason."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def main() -> int:
    """Sets up; returns the exit code of the step that failed, or 0."""
    os.chdir(ROOT)
    if shutil.which("cargo") is None:
        sys.stderr.write("error: cargo is missing: install Rust 1.90 or later\n")
        return 3
    title = f"tlslab, tlslab-load and tlslab-serve into .venv (Python {sys.version.split()[0]})"
    try:
        with Progress(title) as progress, ThreadPoolExecutor(1) as beside:
            package = Command([PYTHON, *PIP, *EDITABLE])
            python = beside.submit(_python, progress, package)
            try:
                _must(progress, Cargo(["build", "--release", "--locked", "--bins"]), "cargo")
            except BaseException:
                package.cancel()
                raise
            python.result()
    except FailedError as failed:
        return failed.code
    except KeyboardInterrupt:
        return 130
    return 0


def _python(progress: Progress, package: Command) -> None:
    _packages(progress)
    _must(progress, package, "package")


def _packages(progress: Progress) -> None:
    """Makes the virtual environment with the packages of requirements.lock, if missing."""
    lock = ROOT / "requirements.lock"
    runs = PYTHON.exists() and subprocess.run([PYTHON, "-c", ""], check=False).returncode == 0
    if runs and STAMP.exists() and STAMP.stat().st_mtime >= lock.stat().st_mtime:
        return
    if not runs:
        progress.say("pip", "virtual environment")
        _must(progress, Command([sys.executable, "-m", "venv", "--clear", VENV]), "pip")
    progress.say("pip", "Python packages")
    # Modules are compiled when imported: compiling all at once takes as long as fetching them.
    _must(progress, Command([PYTHON, *PIP, "--no-compile", "-r", lock]), "pip")
    STAMP.touch()


def _must(progress: Progress, command: Command, job: str) -> None:
    code = command.run(progress, job)
    if code:
        raise FailedError(code)


if __name__ == "__main__":
    raise SystemExit(main())
