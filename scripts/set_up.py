"""Makes .venv with everything that users need: the Python packages, both programs, the package
tlslab.

    set_up.py [--without-openssl]     the programs whole, or only what `make demo` needs of them

The packages are fetched while cargo compiles, and tlslab's own is prepared at the same time: its
build asks cargo for the programs, and therefore waits for them. Python's bytecode is made where a
processor is idle. Run by `make setup` and `make demo`, with the Python for .venv; needs only the
standard library.
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
# Only where a processor is idle: at the end of a build one crate waits for another.
PATIENT = ("nice", "-n", "19")
# Every module of tlslab with its imports, and the imports inside functions. Optional ones may lack.
IMPORT_ALL = """
import contextlib, importlib, pkgutil
import ruptures, scipy.optimize, scipy.stats, tlslab
for module in pkgutil.walk_packages(tlslab.__path__, "tlslab."):
    if not module.name.endswith("__main__"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module.name)
"""
# With this variable, the packages of the checks and tests are fetched meanwhile, too.
DEV = "TLSLAB_DEV"
# Read by setup.py.
WITHOUT_OPENSSL = "TLSLAB_WITHOUT_OPENSSL"
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install")
EDITABLE = ("--no-build-isolation", "--no-deps", "--editable", ".")


class FailedError(Exception):
    """A step ended with this exit code and has reported the reason."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def main(without_openssl: bool) -> int:
    """Sets up; returns the exit code of the step that failed, or 0."""
    os.chdir(ROOT)
    if shutil.which("cargo") is None:
        sys.stderr.write("error: cargo is missing: install Rust 1.90 or later\n")
        return 3
    title = f"tlslab, tlslab-load and tlslab-serve into .venv (Python {sys.version.split()[0]})"
    build = ["build", "--release", "--locked", "--bins"]
    if without_openssl:
        title += ", without OpenSSL"
        build += ["--package", "tlslab-programs", "--no-default-features"]
    try:
        with Progress(title) as progress, ThreadPoolExecutor(1) as beside:
            variable = {WITHOUT_OPENSSL: "1" if without_openssl else ""}
            package = Command([PYTHON, *PIP, *EDITABLE], variable)
            python = beside.submit(_python, progress, package)
            try:
                _must(progress, Cargo(build), "cargo")
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
    bytecode = Command([*PATIENT, PYTHON, "-c", IMPORT_ALL], {"PYTHONPATH": "python"})
    with ThreadPoolExecutor(1) as beside:
        beside.submit(bytecode.run, progress, "bytecode")
        try:
            _must(progress, package, "package")
        finally:
            # The first command makes what is missing.
            bytecode.cancel()


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
    locks = ["requirements.lock"]
    if os.environ.get(DEV):
        locks += ["requirements-test.lock", "requirements-dev.lock"]
    options = [option for name in locks for option in ("-r", name)]
    _must(progress, Command([PYTHON, *PIP, "--no-compile", *options]), "pip")
    STAMP.touch()


def _must(progress: Progress, command: Command, job: str) -> None:
    code = command.run(progress, job)
    if code:
        raise FailedError(code)


if __name__ == "__main__":
    raise SystemExit(main("--without-openssl" in sys.argv[1:]))
