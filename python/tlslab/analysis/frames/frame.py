"""Tables of a run's raw results, for analysis with other tools."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Kind = Literal["text", "integer", "number", "truth"]
Value = str | int | float | bool | None
Row = TypeVar("Row")
# Contravariant: a reader of rows of one class reads rows of its subclasses, too.
RowRead = TypeVar("RowRead", contravariant=True)


@dataclass(frozen=True)
class Column:
    """A column: the kind of its values, their unit (empty for counts and text), their meaning."""

    name: str
    kind: Kind
    unit: str
    about: str


@dataclass(frozen=True)
class Frame:
    """A table: each row has one value per column, None where the row has no such value."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    def values(self, name: str) -> list[Value]:
        """The values of one column. Raises KeyError."""
        place = {column.name: index for index, column in enumerate(self.columns)}[name]
        return [row[place] for row in self.rows]


@dataclass(frozen=True)
class Field(Generic[RowRead]):
    """A column, and the function that reads its value from the source of a row."""

    column: Column
    read: Callable[[RowRead], Value]


def field(name: str, kind: Kind, unit: str, about: str, read: Callable[[Row], Value]) -> Field[Row]:
    """A field in one line."""
    return Field(Column(name, kind, unit, about), read)


def make_frame(name: str, fields: Sequence[Field[Row]], rows: Iterable[Row]) -> Frame:
    """The frame of these fields, with one row per item.

    Raises ValueError for duplicate column names.
    """
    names = [each.column.name for each in fields]
    if len(set(names)) < len(names):
        raise ValueError(f"columns of one name in {name}: {names}")
    return Frame(
        name,
        tuple(each.column for each in fields),
        tuple(tuple(each.read(row) for each in fields) for row in rows),
    )
