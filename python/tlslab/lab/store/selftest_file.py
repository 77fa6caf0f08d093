"""The last self-test of this machine, in a file of the user.

The file is `$XDG_STATE_HOME/tlslab/selftest.json`, by default `~/.local/state/tlslab/selftest.json`
(XDG Base Directory Specification 0.8).
"""

import json
import os
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from tlslab.domain.codec import from_json, to_json
from tlslab.domain.errors import StoreError
from tlslab.domain.selftest import SCHEMA, Selftest
from tlslab.lab.store.soundness import read_finite
from tlslab.user_folders import user_folder

# The largest file that is read, in bytes; a result has a few kilobytes.
LIMIT_BYTES = 1 << 20


def selftest_file() -> Path | None:
    """The path of the kept self-test; None without a home folder."""
    base = user_folder("XDG_STATE_HOME", ".local/state")
    return None if base is None else base / "tlslab" / "selftest.json"


def write_selftest(selftest: Selftest) -> Path | None:
    """Replaces the kept self-test; returns the file. Raises StoreError.

    Without a home folder nothing is kept.
    """
    path = selftest_file()
    if path is None:
        return None
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(to_json(selftest), allow_nan=False, indent=1) + "\n", "utf-8")
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise StoreError(
            f"cannot keep the result in {path}: {error.strerror}",
            "make the folder writable, or set XDG_STATE_HOME to one that is",
        ) from None
    return path


def read_selftest() -> Selftest | None:
    """The kept self-test; None without one, or without a home folder.

    Raises StoreError for a file that is not a self-test in this version's form.
    """
    path = selftest_file()
    if path is None:
        return None
    remedy = "delete it, or run `tlslab selftest` again"
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}", remedy) from None
    try:
        found = read_finite(data) if len(data) <= LIMIT_BYTES else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise StoreError(f"{path} is no self-test ({SCHEMA})", remedy)
    known = {field.name for field in fields(Selftest)}
    try:
        return from_json({key: value for key, value in found.items() if key in known}, Selftest)
    except StoreError as error:
        raise StoreError(f"{path}: {error.message}", remedy) from None
