"""Finds statements of a document about kept runs that the kept figures do not support."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kept.document import Block, Section, sections
from kept.figures import NotKeptError, kept
from kept.lookup import Lookup, Spec
from kept.numbers import Key, numbers

# A section that uses a report with the warning (left) must contain the word (right).
MUST_SAY = {
    "warm up for longer": "warming up",
    "too short to see whether the rate was steady": "too short",
}

# Paragraphs about the study and the method, not about a run.
BACKGROUND = ("*Published.*", "*Method here.*")


def complaints(text: str, references: Mapping[str, Any], folder: Path) -> list[str]:
    """The statements of a document that differ from the kept figures in `folder`, one line each.

    `references` has a table for each name in the document.
    """
    found = []
    named = set()
    for section in sections(text):
        names = {block.name for block in section.blocks} - {None}
        if section.names_a_run or names:
            found += list(_Checker(section, references, folder).complaints())
        named |= names
    found += [f"references that nothing names: {name}" for name in references if name not in named]
    return found


@dataclass
class _Checker:
    """Checks a section; `shown` are the numbers of its tables and paragraphs so far."""

    section: Section
    references: Mapping[str, Any]
    folder: Path
    used: set[str] = field(default_factory=set)
    shown: set[Key] = field(default_factory=set)

    def complaints(self) -> Iterator[str]:
        for block in self.section.blocks:
            check = self._table if block.rows else self._prose
            if block.name is not None and block.name not in self.references:
                yield f"line {block.line}: no references {block.name}"
                continue
            own = self.references[block.name] if block.name is not None else {}
            for what in check(block, Lookup(self.folder, own, self.used)):
                yield f"line {block.line}: {what}"
        for report in sorted(self.used):
            for what in self._report(report):
                yield f"line {self.section.line}: {self.section.title}: {what}"

    def _report(self, report: str) -> Iterator[str]:
        if report not in self.section.reports:
            yield f"no link to the report {report}"
        try:
            warnings = [each["text"] for each in kept(self.folder, report)["warnings"]]
        except NotKeptError:
            return  # reported at the number
        for words, word in MUST_SAY.items():
            if any(words in text for text in warnings) and word not in self.section.text:
                yield f"{report} warns ({words}): say {word!r}"

    def _table(self, block: Block, lookup: Lookup) -> Iterator[str]:
        references = lookup.references
        cells = dict(references.get("cells", {}))
        exempt = (*references.get("settings", ()), *references.get("study", ()))
        for row in block.rows:
            for column, text in list(zip(block.header, row, strict=True))[1:]:
                place = f"{row[0]} / {column}"
                spec = cells.pop(place, None) or _address(references, row[0], column)
                if not {column, row[0], place} & set(exempt):
                    yield from (
                        f"{place}: {what}" for what in self._cell(text, spec, lookup, " ".join(row))
                    )
        yield from (f"a reference for a cell that is not there: {place}" for place in cells)

    def _cell(self, text: str, spec: Spec | None, lookup: Lookup, row: str) -> Iterator[str]:
        found = list(numbers(text))
        if len(found) > 1 and isinstance(spec, Mapping) and "says" not in spec:
            yield from lookup.text_differs(text, spec, row)
            return
        for each in found:
            self.shown.add(each.key)
            if spec is None:
                yield f"{each.text}: no reference"
            else:
                yield from (f"{each.text}: {what}" for what in lookup.differs(each, spec, row))

    def _prose(self, block: Block, lookup: Lookup) -> Iterator[str]:
        references = lookup.references
        exempt = _keys([*references.get("settings", ()), *references.get("study", ())])
        above = _keys(references.get("above", ()))
        known = {_keys([text]).pop(): spec for text, spec in references.get("numbers", {}).items()}
        found = list(numbers(block.prose))
        for each in found:
            if each.key in known:
                self.shown.add(each.key)
                spec = known[each.key]
                yield from (
                    f"{each.text}: {what}" for what in lookup.differs(each, spec, block.prose)
                )
            elif each.key in above:
                if each.key not in self.shown:
                    yield f"{each.text}: not in a table or paragraph above"
            elif (
                each.measured and each.key not in exempt and not block.prose.startswith(BACKGROUND)
            ):
                yield f"{each.text}: no reference"
        for key in {*known, *exempt, *above} - {each.key for each in found}:
            yield f"a reference for a number that is not there: {key}"


def _address(references: Mapping[str, Any], row: str, column: str) -> Spec | None:
    """The parts of an address: the block's, then the row's, then the column's."""
    if column not in references.get("columns", {}):
        return None
    address: dict[str, Any] = {"row": row}
    for part in ("report", "table", "row", "column"):
        if part in references:
            address[part] = references[part]
    row_spec, column_spec = references.get("rows", {}).get(row, {}), references["columns"][column]
    address.update({"row": row_spec} if isinstance(row_spec, str) else row_spec)
    address.update({"column": column_spec} if isinstance(column_spec, str) else column_spec)
    return address


def _keys(texts: Sequence[str]) -> set[Key]:
    return {each.key for text in texts for each in numbers(text)}
