"""Frames as files: CSV, or Parquet by pyarrow, and as Arrow tables."""

import csv
from pathlib import Path
from typing import Any

from tlslab.analysis.frames.frame import Column, Frame, Value
from tlslab.domain.errors import CannotRunError


def arrow_table(frame: Frame) -> Any:
    """A pyarrow.Table with the columns' kinds; unit and meaning are the metadata of each field.

    Raises CannotRunError if pyarrow is missing.
    """
    pa = _pyarrow()
    types = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "truth": pa.bool_(),
    }
    schema = pa.schema(
        [
            pa.field(each.name, types[each.kind], metadata={"unit": each.unit, "about": each.about})
            for each in frame.columns
        ]
    )
    columns = zip(*frame.rows, strict=True) if frame.rows else ((),) * len(frame.columns)
    arrays = [
        pa.array(values, types[column.kind])
        for column, values in zip(frame.columns, columns, strict=True)
    ]
    return pa.table(arrays, schema=schema)


def write_parquet(frame: Frame, path: Path) -> None:
    """Writes one frame. Raises CannotRunError if pyarrow is missing."""
    table = arrow_table(frame)
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, path)


def write_csv(frame: Frame, path: Path) -> None:
    """Writes one frame (RFC 4180): a line of names, numbers in full, an empty field for None."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.name for column in frame.columns])
        for row in frame.rows:
            pairs = zip(frame.columns, row, strict=True)
            writer.writerow([_field(column, value) for column, value in pairs])


def _field(column: Column, value: Value) -> str:
    if value is None:
        return ""
    if column.kind == "truth":
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise CannotRunError(
            "pyarrow is not installed", "pip install 'pyarrow>=18', or export as CSV"
        ) from None
    return pyarrow
