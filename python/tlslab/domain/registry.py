"""Registries: the part that each kind of experiment contributes to a stage, by the kind's name."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """The parts of one stage, by the kind's name, in the order of registration."""

    def __init__(self) -> None:
        self._parts: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def register(self, name: str, part: T) -> T:
        """Adds the part of a kind and returns it.

        Raises ValueError if the name is registered already.
        """
        if name in self._parts:
            raise ValueError(f"'{name}' is registered already")
        self._parts[name] = part
        return part

    def registers(self, name: str) -> Callable[[T], T]:
        """A decorator that registers the function it decorates."""
        return lambda part: self.register(name, part)
