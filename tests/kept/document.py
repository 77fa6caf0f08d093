"""Reads a document: its sections, with their tables and paragraphs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

COMMENT = re.compile(r"<!-- figures: ([\w-]+) -->")
CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?:docs/|\.\./)?reports/([\w-]+)[/)]")


@dataclass
class Block:
    """A table (`header` and `rows`) or a paragraph (`prose`); `name` is its references'."""

    line: int
    prose: str = ""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    name: str | None = None


@dataclass
class Section:
    """The text between two headings; `chapter` is the whole text of its heading of level 2."""

    title: str
    line: int
    text: str
    chapter: str
    blocks: list[Block]

    @property
    def reports(self) -> frozenset[str]:
        """The kept reports that the section's chapter links to."""
        return frozenset(LINK.findall(self.chapter))

    @property
    def names_a_run(self) -> bool:
        """Whether the section may have results of kept runs: its chapter links to some."""
        return bool(self.reports)


def sections(text: str) -> Iterator[Section]:
    """The sections of a document, in order."""
    blank = CODE.sub(lambda match: re.sub(r"[^\n]", "", match[0]), text)
    line = 1
    for chapter in re.split(r"(?m)^(?=##? )", blank):
        for part in re.split(r"(?m)^(?=#+ )", chapter):
            title = part.partition("\n")[0].lstrip("# ")
            yield Section(title, line, part, chapter, list(_blocks(part, line)))
            line += part.count("\n")


def _blocks(part: str, line: int) -> Iterator[Block]:
    last: Block | None = None
    for chunk in re.split(r"(\n\s*\n)", part):
        text = chunk.strip()
        if (found := COMMENT.match(text)) and last is not None:
            last.name = found[1]
        elif text and not text.startswith(("<!--", "#")):
            if last is not None:
                yield last
            last = _table(text, line) if text.startswith("|") else Block(line, prose=text)
        line += chunk.count("\n")
    if last is not None:
        yield last


def _table(chunk: str, line: int) -> Block:
    header, _, *rows = [
        [cell.strip() for cell in row.strip().strip("|").split("|")] for row in chunk.split("\n")
    ]
    return Block(line, header=header, rows=rows)
