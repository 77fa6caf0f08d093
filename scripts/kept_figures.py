"""Extracts tables, sentences and warnings of a page. `figures.json` of a kept report has them.

Module of kept_reports.py. `tests/kept` compares the documents with these files. The tables behind
the drawings, and the machine's description, are left out.

A cell is a string: the value, then its interval in brackets with a hyphen (`255 (246-260)`), then
the rest of the cell after ` | `. An empty cell is "".
"""

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

LEFT_OUT = ("figure-", "text-", "cpu", "machine", "environment")
DRAWN = ("grid-numbers-", "grid-flame-")
VOID = ("meta", "link", "br", "img", "input", "hr")

# Classes that end a piece of a cell, a title or a warning.
BREAKS = ("interval", "verdict", "cells", "count")

# Classes of paragraphs that are sentences of the report, not notes beside a picture.
SAID = (None, "headline", "headline long", "second-line")

PERCENT = " %"

# Classes of a row that are no verdict.
NO_FLAG = ("first", "objected")
INTERVAL = re.compile(r"^(-?[\d.,]+)–(-?[\d.,]+)$")


@dataclass
class Table:
    """A table of the page; `header` has its head's rows with their column spans resolved."""

    section: str
    name: str
    header: list[list[str]] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)


class Page(HTMLParser):
    """Reads a report's page: sections, their paragraphs, tables and warnings."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str]]] = []
        self.sections = [""]
        self.titles: dict[str, str] = {}
        self.sentences: list[str] = []
        self.warnings: list[dict[str, str]] = []
        self.tables: list[Table] = []
        self.words: list[str] = []
        self.pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Opens sections, tables and rows; what starts a text ends the one before it."""
        known = {name: value or "" for name, value in attrs}
        if tag in VOID:
            return
        self.open.append((tag, known))
        if tag == "section":
            self.sections.append(known.get("id") or known.get("class", ""))
        elif tag == "table" and self._wanted():
            name = known.get("id", "").removeprefix("grid-") or self.section
            self.tables.append(Table(self.section, name))
        elif tag == "tr" and self._in("thead"):
            self._table().header.append([])
        elif tag == "tr" and self._wanted():
            self._table().rows.append([])
            classes = known.get("class", "").split()
            self._table().flags.append(" ".join(each for each in classes if each not in NO_FLAG))
        elif tag in ("td", "th", "p", "h2", "h3", "li"):
            self.words, self.pieces = [], []
        elif _breaks(tag, known):
            self._flush()

    def handle_endtag(self, tag: str) -> None:
        """Keeps the text of the element that ends: a cell, a title, a sentence, a warning."""
        if tag in VOID or not self.open:
            return
        _, known = self.open.pop()
        if tag == "section":
            self.sections.pop()
        elif _breaks(tag, known):
            self._flush()
        elif tag in ("td", "th") and self._wanted() and self.tables:
            self._cell(int(known.get("colspan", "1")))
        elif tag in ("h2", "h3") and self.section not in self.titles:
            self._flush()
            self.titles[self.section] = self.pieces[0].removesuffix(" #")
        elif tag == "p" and known.get("class") in SAID:
            self._paragraph()
        elif tag == "li" and self.section == "findings":
            self._flush()
            self.sentences.append(" ".join(self.pieces))
        elif tag == "li" and self.section == "warnings":
            self._flush()
            self.warnings.append({"text": self.pieces[0], "cells": " ".join(self.pieces[1:])})

    def handle_data(self, data: str) -> None:
        """Collects the words of the open text."""
        if not self._in("script") and not self._in("style"):
            self.words.append(data)

    @property
    def section(self) -> str:
        """The innermost open section."""
        return self.sections[-1]

    def _wanted(self) -> bool:
        drawn = any(tag == "table" and a.get("id", "").startswith(DRAWN) for tag, a in self.open)
        return not drawn and not self.section.startswith(LEFT_OUT)

    def _in(self, tag: str) -> bool:
        return self._wanted() and any(name == tag for name, _ in self.open)

    def _table(self) -> Table:
        return self.tables[-1]

    def _flush(self) -> None:
        text = " ".join("".join(self.words).split())
        self.words = []
        if text:
            self.pieces.append(text)

    def _paragraph(self) -> None:
        self._flush()
        if self.section == "answer" or self.section.startswith("setting-"):
            self.sentences.append(" ".join(self.pieces))

    def _cell(self, span: int) -> None:
        self._flush()
        if self._in("thead"):
            self._table().header[-1] += [" ".join(self.pieces)] * span
        elif self._table().rows:
            self._table().rows[-1].append(cell_text(self.pieces))


def _breaks(tag: str, known: dict[str, str]) -> bool:
    """Whether an element is a separate piece."""
    return tag in ("b", "small", "i") or (tag == "span" and known.get("class") in BREAKS)


def cell_text(pieces: list[str]) -> str:
    """The value, its interval in brackets, the rest after ` | `; an en dash alone is nothing."""
    value, *rest = pieces or [""]
    if value == "–":
        value = ""
    if rest and (found := INTERVAL.match(rest[0])):
        return " | ".join([f"{value} ({found[1]}-{found[2]})", *rest[1:]])
    return " | ".join([value, *rest])


def with_percent(text: str, head: str) -> str:
    """A figure with the per cent sign that older pages have in the head of its column."""
    value, between, rest = text.partition(" ")
    return f"{value}{PERCENT}{between}{rest}" if head.endswith(PERCENT) and value else text


def columns(header: list[list[str]]) -> list[str]:
    """A name for each column: its heads from top to bottom; a repeated name has a number."""
    names: list[str] = []
    for heads in zip(*header, strict=True):
        name = " ".join(head for head in heads if head)
        count = sum(
            re.fullmatch(re.escape(name) + r"( \d+)?", known) is not None for known in names
        )
        names.append(f"{name} {count + 1}" if count and name else name)
    return names


def figures(html: str) -> dict[str, Any]:
    """The content of a page, as data."""
    page = Page()
    page.feed(html)
    found: dict[str, dict[str, Any]] = {}
    for table in page.tables:
        name, number = table.name, 1
        while name in found:
            number += 1
            name = f"{table.name}/{number}"
        heads = columns(table.header)
        found[name] = {
            "title": page.titles.get(table.section, ""),
            "columns": [head.removesuffix(PERCENT) for head in heads],
            "rows": [list(map(with_percent, row, heads)) for row in table.rows],
            "flags": table.flags if any(table.flags) else [],
        }
    return {"sentences": page.sentences, "warnings": page.warnings, "tables": found}


def text(found: dict[str, Any]) -> str:
    """The file's text: JSON with one row per line, so that differences are readable."""
    indented = json.dumps(found, indent=1, ensure_ascii=False)
    return re.sub(r"\[\n\s+(\"[^\[\]{}]*?\")\n\s+\]", _one_line, indented) + "\n"


def _one_line(match: re.Match[str]) -> str:
    return "[" + re.sub(r"\",\n\s+\"", '", "', match[1]) + "]"
