"""The places of the engine's programs."""

import os
import shutil
import sys
from pathlib import Path

from tlslab.model.errors import CannotRunError

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
