"""Tables of a run's raw results, for those who analyse them with tools of their own."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Kind = Literal["text", "integer", "number", "truth"]
Value = str | int | float | bool | None
Row = TypeVar("Row")
# What reads a row of one class reads rows of its subclasses, too.
RowRead = TypeVar("RowRead", contravariant=True)


@dataclass(frozen=True)
class Column:
    """A column: the kind of its values, their unit (empty for counts and text), what they are."""

    name: str
    kind: Kind
    unit: str
    about: str


@dataclass(frozen=True)
class Frame:
    """A table: `rows` have a value for each column, None for what a row does not have."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    def values(self, name: str) -> list[Value]:
        """The values of one column. Raises KeyError."""
        place = {column.name: index for index, column in enumerate(self.columns)}[name]
        return [row[place] for row in self.rows]


@dataclass(frozen=True)
class Field(Generic[RowRead]):
    """A column, and how its value is read from what a row is made of."""

    column: Column
    read: Callable[[RowRead], Value]


def field(name: str, kind: Kind, unit: str, about: str, read: Callable[[Row], Value]) -> Field[Row]:
    """A field in one line."""
    return Field(Column(name, kind, unit, about), read)


def make_frame(name: str, fields: Sequence[Field[Row]], rows: Iterable[Row]) -> Frame:
    """The frame of these fields, a row for each item. Raises ValueError for two of one name."""
    names = [each.column.name for each in fields]
    if len(set(names)) < len(names):
        raise ValueError(f"columns of one name in {name}: {names}")
    return Frame(
        name,
        tuple(each.column for each in fields),
        tuple(tuple(each.read(row) for each in fields) for row in rows),
    )
