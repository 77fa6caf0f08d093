"""The kept figures: texts in a row of a report's table name the row; its verdict limits its use."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kept.numbers import Number, numbers

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "docs/reports"

FINE = ("valid", "kept up", "converged", "")


class NotKeptError(Exception):
    """A reference that leads to no cell, or to a cell without a usable value."""


@dataclass(frozen=True)
class Found:
    """A cell of a report: its number, and the words that a document must print with it."""

    number: Number | None
    text: str
    words: tuple[str, ...] = ()


@cache
def kept(folder: Path, report: str) -> Mapping[str, Any]:
    """A report's figures.json."""
    path = folder / report / "figures.json"
    if not path.is_file():
        raise NotKeptError(f"no kept report {report}")
    found: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def table(folder: Path, report: str, name: str) -> Mapping[str, Any]:
    """A table of a report."""
    tables = kept(folder, report)["tables"]
    if name not in tables:
        raise NotKeptError(f"{report} has no table {name}")
    found: Mapping[str, Any] = tables[name]
    return found


def cell(folder: Path, address: Mapping[str, str]) -> Found:
    """The cell at report, table, row and column.

    A row is named by texts in it, separated by `;`; `setting` holds further texts. Raises
    NotKeptError if there is no such cell, if there are several, or if its row has no usable value.
    """
    for part in ("report", "table", "row", "column"):
        if part not in address:
            raise NotKeptError(f"no {part}")
    found = table(folder, address["report"], address["table"])
    named_row = "; ".join(address[part] for part in ("row", "setting") if part in address)
    wanted = [each.strip() for each in named_row.split(";")]
    rows = [
        (index, row)
        for index, row in enumerate(found["rows"])
        if all(any(each == text.split(" | ")[0] for text in row) for each in wanted)
    ]
    if len(rows) != 1:
        raise NotKeptError(f"{len(rows)} rows {named_row!r} in {address['table']}")
    if address["column"] not in found["columns"]:
        raise NotKeptError(f"no column {address['column']!r} in {address['table']}")
    index, row = rows[0]
    text = row[found["columns"].index(address["column"])].split(" | ")[0]
    flag = found["flags"][index] if found["flags"] else ""
    named = dict(zip(found["columns"], row, strict=True))
    words = _words(flag, named, address["column"])
    return Found(next(numbers(text), None), text, words)


def _words(flag: str, row: Mapping[str, str], column: str) -> tuple[str, ...]:
    """The words that a document must print with a number of this row.

    Raises NotKeptError if the row has no usable value.
    """
    if column.startswith("offered"):  # a setting of the run
        return ()
    verdict = flag or row.get("verdict", "")
    search = row.get("search", "").split(" (")[0]
    words = ["inconclusive"] if search not in FINE else []
    if verdict in ("at least", "at_least"):
        return (*words, "bound") if "/s" in column or column == "ratio" else tuple(words)
    if verdict == "overloaded":
        return (*words, "overloaded")
    if verdict not in FINE:
        raise NotKeptError(f"the row is flagged {verdict!r}")
    return tuple(words)


def count(folder: Path, address: Mapping[str, Any]) -> int:
    """The number of rows of a table that have the texts of `count` in their columns."""
    found = table(folder, address["report"], address["table"])
    places = {found["columns"].index(name): text for name, text in address["count"].items()}
    return sum(
        all(row[place].split(" | ")[0] == text for place, text in places.items())
        for row in found["rows"]
    )


def says(folder: Path, report: str, quote: str) -> bool:
    """Whether a sentence or a warning of the report has the quote."""
    found = kept(folder, report)
    texts = [
        *found["sentences"],
        *(f"{each['text']}: {each['cells']}" for each in found["warnings"]),
    ]
    return any(quote in text for text in texts)
