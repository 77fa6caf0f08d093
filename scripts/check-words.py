#!/usr/bin/env python3
"""Checks the text that git tracks for the banned words of docs/glossary.md.

    check-words.py [PATH...]     all tracked files, or those below the paths

Prints `file:line: word -> replacement` for each hit; the exit code is 1 if there is one. Names are
split into words: `some_name` is "some name", `SomeName` is "Some Name". A phrase may continue in
the next line, after a comment mark. Line 0 stands for the path of the file. Needs Python's standard
library only.
"""

import argparse
import re
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

GLOSSARY = "docs/glossary.md"

HEADING = "## Banned words"

# Paths that are not checked.
LEFT_OUT = (
    GLOSSARY,  # has the words
    "tests/unit/test_words.py",  # has them, too
    "docs/reports/",  # runs as they were printed
    "tests/golden/runs/",  # the same
    "docs/mutants.tsv",  # names by tools
    "schema/",  # made from the Rust and Python types
    "LICENSE-",
)

LEFT_OUT_SUFFIXES = (".lock", ".png", ".xz", ".jar")

# A cell of a table; `\|` is a bar within one.
_CELL = re.compile(r"(?<!\\)\|")

# The joints at which a name is split: `_`, and before a capital that ends a run of small letters.
_JOINT = re.compile(r"_|(?<=[a-z0-9])(?=[A-Z])")

# Characters between two lines of one sentence: comment marks, the quotes of a string in parts.
_MARGIN = re.compile(r"^[\s/#*!>|\"-]+")
_REST = re.compile(r"[\s\"\\]+$")


class MalformedGlossaryError(Exception):
    """The table of banned words cannot be read."""


@dataclass(frozen=True)
class Rule:
    """A banned word with its replacement; `pattern` matches its misuse alone."""

    word: str
    replacement: str
    pattern: re.Pattern[str]


@dataclass(frozen=True)
class Hit:
    """A banned word in a line, counted from 1; line 0 is the path itself."""

    path: str
    line: int
    found: str
    replacement: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found} -> {self.replacement}"


def rules(glossary: str) -> list[Rule]:
    """The rows of the table of banned words: word, replacement, pattern, and where the word is
    right.

    Raises MalformedGlossaryError.
    """
    _, heading, section = glossary.partition(f"\n{HEADING}\n")
    if not heading:
        raise MalformedGlossaryError(f"no section {HEADING!r}")
    table = section.partition("\n## ")[0].splitlines()
    rows = [_CELL.split(line)[1:-1] for line in table if line.startswith("|")]
    return [_rule(row) for row in rows[2:]]


def _rule(row: Sequence[str]) -> Rule:
    if len(row) != 4:
        raise MalformedGlossaryError(f"not 4 cells: {'|'.join(row)}")
    word, replacement, pattern, _ = (cell.strip().replace(r"\|", "|") for cell in row)
    try:
        return Rule(word, replacement, re.compile(pattern.strip("`"), re.IGNORECASE))
    except re.error as error:
        raise MalformedGlossaryError(f"{word}: {error}") from error


def hits(path: str, text: str, banned: Sequence[Rule]) -> list[Hit]:
    """The banned words of a text, in order of appearance."""
    lines = [_REST.sub("", _MARGIN.sub("", _words(line))) for line in text.splitlines()]
    # The start of each line in the running text, in which an empty line leaves two blanks.
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    running = " ".join(lines)
    found = [
        (match.start(), bisect_right(starts, match.start()), match[0], rule.replacement)
        for rule in banned
        for match in rule.pattern.finditer(running)
    ]
    return [Hit(path, number, word, instead) for _, number, word, instead in sorted(found)]


def in_path(path: str, banned: Sequence[Rule]) -> list[Hit]:
    """The banned words of a path, as line 0."""
    named = hits(path, re.sub(r"[-/.]", " ", path), banned)
    return [replace(hit, line=0) for hit in named]


def _words(line: str) -> str:
    return _JOINT.sub(" ", line)


def tracked(root: Path, paths: Sequence[str]) -> list[str]:
    """The files under version control below `paths`, without the exceptions."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *paths],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return [
        name
        for name in listed.stdout.split("\0")
        if name and not name.startswith(LEFT_OUT) and not name.endswith(LEFT_OUT_SUFFIXES)
    ]


def text_of(file: Path) -> str | None:
    """The text of a file; None for a missing file or one without text."""
    try:
        text = file.read_text("utf-8")
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        return None
    return None if "\0" in text else text


def check(root: Path, paths: Sequence[str]) -> list[Hit]:
    """The banned words in the tracked text below `paths`. Raises MalformedGlossaryError."""
    banned = rules((root / GLOSSARY).read_text("utf-8"))
    found: list[Hit] = []
    for name in tracked(root, paths):
        found += in_path(name, banned)
        text = text_of(root / name)
        if text is not None:
            found += hits(name, text, banned)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Checks, prints; returns the exit code."""
    parser = argparse.ArgumentParser(description="finds the banned words of docs/glossary.md")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="limit the check to these paths")
    try:
        found = check(ROOT, parser.parse_args(arguments).paths)
    except MalformedGlossaryError as error:
        sys.stderr.write(f"{GLOSSARY}: {error}\n")
        return 2
    sys.stdout.writelines(f"{hit}\n" for hit in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
