"""Items that are made when they are first asked for."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Made(dict[str, T]):
    """Makes an item by its name, at the first request for it."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, name: str) -> T:
        self[name] = self._make(name)
        return self[name]
