"""TOML tables whose faults are reported with file, line, key and allowed values."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tlslab.domain.command_line import did_you_mean
from tlslab.domain.errors import ExperimentError

Path = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*["']?([\w.-]+)["']?\s*=""")


def parse(text: str, source: str) -> "Table":
    """The document's root table. Raises ExperimentError with the line of a syntax error."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\s*\(at line (\d+), column (\d+)\)", str(error))
        line = int(found[1]) if found else None
        what = str(error)[: found.start()] if found else str(error)
        column = f", column {found[2]}" if found else ""
        raise ExperimentError(source, line, f"not valid TOML: {what}{column}") from None
    except ValueError:
        raise ExperimentError(source, None, "a whole number has too many digits") from None
    except RecursionError:
        raise ExperimentError(source, None, "lists or tables are nested too deeply") from None
    return Table(data, (), source, dict(_lines(text)))


def _lines(text: str) -> Iterator[tuple[Path, int]]:
    """The line of each header and key, by its path; array tables are numbered from 0."""
    prefix: Path = ()
    counts: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _HEADER.match(line):
            name = header[2]
            prefix = tuple(part.strip(" \"'") for part in name.split("."))
            if header[1] == "[[":
                counts[name] = counts.get(name, -1) + 1
                prefix = (*prefix, counts[name])
            yield prefix, number
        elif key := _KEY.match(line):
            yield (*prefix, *key[1].split(".")), number


class Table:
    """A table of a document, which knows its place."""

    def __init__(self, data: dict[str, Any], path: Path, source: str, lines: dict[Path, int]):
        self.data = data
        self.path = path
        self._source = source
        self._lines = lines

    def error(self, message: str, key: str | None = None, remedy: str = "") -> ExperimentError:
        """A fault at a key of this table, or of the table as a whole; to be raised."""
        path = self.path if key is None else (*self.path, key)
        name = ".".join(str(part) for part in path)
        at = path
        while at and at not in self._lines:
            at = at[:-1]
        text = f"{name}: {message}" if name else message
        return ExperimentError(self._source, self._lines.get(at), text, remedy)

    def only(self, *allowed: str) -> None:
        """Refuses keys other than these."""
        for key in self.data:
            if key not in allowed:
                message = f"unknown key; allowed: {', '.join(allowed)}"
                raise self.error(message, key, did_you_mean(key, allowed))

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def _value(self, key: str) -> Any:
        if key not in self.data:
            raise self.error(f"the key '{key}' is missing")
        return self.data[key]

    def text(self, key: str) -> str:
        """A string that is not empty."""
        value = self._value(key)
        if not isinstance(value, str) or not value:
            raise self.error("must be a text in quotes", key)
        return value

    def integer(self, key: str, least: int, most: int) -> int:
        """A whole number within these bounds."""
        value = self._value(key)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.error(f"must be a whole number from {least} to {most}", key)
        return value

    def share(self, key: str) -> float:
        """A number from 0 to 1."""
        value = self._value(key)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
            raise self.error("must be a number from 0 to 1", key)
        return float(value)

    def number(self, key: str, least: float, most: float) -> float:
        """A number within these bounds."""
        value = self._value(key)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise self.error("must be a number", key)
        if not least <= value <= most:
            raise self.error(f"must be a number from {least:g} to {most:g}", key)
        return float(value)

    def numbers(self, key: str, least: float, most: float) -> tuple[float, ...]:
        """A list of numbers within these bounds, none twice and at least one."""
        value = self._value(key)
        if not isinstance(value, list) or not value or len(set(map(str, value))) < len(value):
            raise self.error("must be a list of numbers, none of them twice", key)
        for item in value:
            if not isinstance(item, (int, float)) or isinstance(item, bool):
                raise self.error("must be a list of numbers", key)
            if not least <= item <= most:
                raise self.error(f"must have numbers from {least:g} to {most:g}", key)
        return tuple(float(item) for item in value)

    def truth(self, key: str) -> bool:
        """True or false."""
        value = self._value(key)
        if not isinstance(value, bool):
            raise self.error("must be true or false", key)
        return value

    def over(self, base: "Table") -> "Table":
        """A table with its own keys, and those of the other table that it lacks."""
        lines = {(*self.path, *p[len(base.path) :]): n for p, n in base.lines_below()}
        return Table({**base.data, **self.data}, self.path, self._source, {**lines, **self._lines})

    def lines_below(self) -> "Iterator[tuple[Path, int]]":
        """The paths that start with this table's own, with their lines."""
        depth = len(self.path)
        return ((p, n) for p, n in self._lines.items() if p[:depth] == self.path)

    def strings(self, key: str) -> tuple[str, ...]:
        """A list of strings, none twice and at least one."""
        value = self._value(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error('must be a list of texts, like ["a", "b"]', key)
        if not value:
            raise self.error("must not be empty", key)
        if len(set(value)) < len(value):
            raise self.error("must not name anything twice", key)
        return tuple(value)

    def levels(self, key: str) -> tuple[str, ...]:
        """A list of strings, in which whole numbers may be given without quotes."""
        value = self._value(key)
        if isinstance(value, list):
            plain = [str(item) if type(item) is int else item for item in value]
            return Table({**self.data, key: plain}, self.path, self._source, self._lines).strings(
                key
            )
        return self.strings(key)

    def names(
        self, key: str, known: Sequence[str], accept: Callable[[str], bool] | None = None
    ) -> tuple[str, ...]:
        """A list of strings that are all among the known ones, or else acceptable."""
        values = self.strings(key)
        for value in values:
            if value not in known and not (accept and accept(value)):
                message = f"unknown name '{value}'; known: {', '.join(known)}"
                raise self.error(message, key, did_you_mean(value, known))
        return values

    def table(self, key: str) -> "Table":
        """A table within this one."""
        value = self._value(key)
        if not isinstance(value, dict):
            raise self.error("must be a table", key)
        return Table(value, (*self.path, key), self._source, self._lines)

    def tables(self, key: str) -> "Iterator[Table]":
        """The tables of a list within this one; none when the key is missing."""
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.error(f"must be written as [[{key}]]", key)
        for number, item in enumerate(value):
            yield Table(item, (*self.path, key, number), self._source, self._lines)


def toml(value: Any) -> str:
    """A value in TOML; a JSON string without raw control characters is a TOML basic string."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
