"""A private folder for a run's temporary files, and the removal of folders left behind.

A lab that ends removes its folder; the folder of a lab that was killed is removed by the next lab.
The folder's name holds its owner's process id and the id's namespace, so that no lab removes the
folder of another that still runs.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NAME = re.compile(r"tlslab-(\d+)-(\d+)-\w+")


@contextmanager
def private_folder() -> Iterator[Path]:
    """A private folder that is removed afterwards. Clears stale ones first."""
    clear_stale()
    with tempfile.TemporaryDirectory(prefix=f"tlslab-{_namespace()}-{os.getpid()}-") as name:
        yield Path(name)


def clear_stale() -> None:
    """Removes the folders of killed labs."""
    for folder in Path(tempfile.gettempdir()).glob("tlslab-*"):
        if _is_stale(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_stale(folder: Path) -> bool:
    """Whether a folder belongs to this user and to a process that no longer exists here."""
    found = _NAME.fullmatch(folder.name)
    namespace = _namespace()
    if found is None or namespace == 0 or int(found[1]) != namespace:
        return False
    try:
        status = folder.lstat()
        os.kill(int(found[2]), 0)
    except ProcessLookupError:
        return status.st_uid == os.getuid() and not folder.is_symlink()
    except (OSError, OverflowError):
        return False
    return False


def _namespace() -> int:
    """The number of the namespace of process ids; 0 where /proc does not show it."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0
