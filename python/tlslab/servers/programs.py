"""The places of the engine's programs."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tlslab.domain.errors import CannotRunError

REMEDY = "run `make setup`, or `pip install` the tlslab package: it brings the programs along"


def find_program(name: str) -> str | None:
    """The program beside this Python, where the package installs it, or else on the PATH."""
    beside = Path(sys.executable).parent / name
    if beside.is_file() and os.access(beside, os.X_OK):
        return str(beside)
    return shutil.which(name)


def require_program(name: str) -> str:
    """The program's path. Raises CannotRunError with the remedy."""
    found = find_program(name)
    if found is None:
        raise CannotRunError(f"the program {name} is missing", REMEDY)
    return found


# The end of the version of a program that was built without OpenSSL (crates/programs/src/lib.rs).
_WITHOUT_OPENSSL = "(without OpenSSL)"

_VERSION_S = 10


@cache
def has_openssl(program: str) -> bool:
    """Whether a program of the engine was built with OpenSSL, which `make demo` leaves out."""
    try:
        asked = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=_VERSION_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return True  # Its start will report the fault.
    return not asked.stdout.rstrip().endswith(_WITHOUT_OPENSSL)


def without_openssl(program: str) -> CannotRunError:
    """The error of a target or a command that needs the OpenSSL of this program."""
    name = Path(program).name
    return CannotRunError(
        f"{name} is built without OpenSSL", "run `make setup`: it builds the programs whole"
    )
