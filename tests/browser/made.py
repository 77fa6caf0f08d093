"""Items that are made when they are first asked for."""

from collections.abc import Callable
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


class Made(dict[str, T]):
    """Makes an item by its name, at the first request for it."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, name: str) -> T:
        self[name] = self._make(name)
        return self[name]


def kept(path: Path, make: Callable[[], bytes]) -> Path:
    """A file that is made if it is missing, by one process only: others wait for it."""
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not path.exists():
            path.write_bytes(make())
    return path
