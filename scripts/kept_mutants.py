"""What became of each mutant, kept over many runs in docs/mutants.tsv, and the table made of it.

    kept_mutants.py tried PART [--again OUTCOME]...   the mutants that need no further try
    kept_mutants.py keep PART                         takes lines "OUTCOME<tab>MUTANT"
    kept_mutants.py made FOLDER                       prints such lines of the mutants of mutmut
    kept_mutants.py logged FILE                       and those of the outcomes in its log
    kept_mutants.py table                             writes the table of docs/mutation-testing.md

`keep` is given all mutants that there are, each as `untried`, and the outcomes of a run. An outcome
is of one text of a source file: where the file has changed since, its mutants are untried again.
Called by mutants.sh and mutants-python.sh; needs Python's standard library and git only.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "mutants.tsv"
PAGE = ROOT / "docs" / "mutation-testing.md"

HEADING = "part\toutcome\tblob\tmutant"
UNTRIED = "untried"
# In the order of the table, with the table's names.
OUTCOMES = {
    "caught": "caught",
    "survived": "survived",
    "timed-out": "timed out",
    "unbuildable": "do not compile",
}
PARTS = {
    "minimal": "minimal client",
    "accounting": "accounting",
    "estimators": "estimators",
}

# The marks with which mutmut lists a mutant at the end of its log: killed, or stopped by a type
# checker; survived, or not covered by any test; timed out, or ended by a signal.
MARKS = {
    "\N{PARTY POPPER}": "caught",
    "\N{MAGE}": "caught",
    "\N{SLIGHTLY FROWNING FACE}": "survived",
    "\N{DOTTED LINE FACE}": "survived",
    "\N{ALARM CLOCK}": "timed-out",
    "\N{COLLISION SYMBOL}": "timed-out",
}

BEGIN = "<!-- made by scripts/kept_mutants.py -->"
END = "<!-- end -->"


@dataclass(frozen=True)
class Kept:
    """The last outcome of a mutant; `blob`: git's name of the file's text on which it was tried."""

    part: str
    outcome: str
    blob: str
    mutant: str


def source_of(mutant: str) -> str:
    """The file of a mutant: cargo-mutants names it `FILE:LINE:...`, mutmut `MODULE.NAME`."""
    if ":" in mutant:
        return mutant.partition(":")[0]
    return f"python/{mutant.rpartition('.')[0].replace('.', '/')}.py"


def read(text: str) -> list[Kept]:
    """The rows of docs/mutants.tsv."""
    rows = (line.split("\t", 3) for line in text.splitlines()[1:])
    return [Kept(*row) for row in rows]


def written(kept: Iterable[Kept]) -> str:
    """The text of docs/mutants.tsv."""
    rows = sorted((each.part, each.outcome, each.blob, each.mutant) for each in kept)
    return "\n".join([HEADING, *("\t".join(row) for row in rows), ""])


def merged(
    kept: Sequence[Kept], part: str, lines: Iterable[str], blob_of: Callable[[str], str]
) -> list[Kept]:
    """The rows, with those of a part replaced by these lines and its earlier outcomes that still
    hold.

    Rows of source files that the lines do not name stay, unless the file is gone.
    """
    now = {UNTRIED: set[str](), **{outcome: set[str]() for outcome in OUTCOMES}}
    for line in lines:
        outcome, mutant = line.rstrip("\n").split("\t", 1)
        now[outcome].add(mutant)
    earlier = {(each.mutant, each.blob): each.outcome for each in kept if each.part == part}
    listed, of_part = {source_of(mutant) for mutant in now[UNTRIED]}, []
    for mutant in now[UNTRIED]:
        blob = blob_of(source_of(mutant))
        found = [outcome for outcome in OUTCOMES if mutant in now[outcome]]
        outcome = found[0] if found else earlier.get((mutant, blob), UNTRIED)
        of_part.append(Kept(part, outcome, blob, mutant))
    others = [
        each
        for each in kept
        if each.part != part
        or (source_of(each.mutant) not in listed and blob_of(source_of(each.mutant)))
    ]
    return [*others, *of_part]


def tried(
    kept: Sequence[Kept], part: str, again: Sequence[str], blob_of: Callable[[str], str]
) -> list[str]:
    """The mutants of a part whose outcome holds, except those with outcomes to try again."""
    return [
        each.mutant
        for each in kept
        if each.part == part
        and each.outcome not in (UNTRIED, *again)
        and each.blob == blob_of(source_of(each.mutant))
    ]


def made(folder: Path) -> Iterator[str]:
    """The line `untried` of each mutant that mutmut has made in this folder."""
    for meta in sorted(folder.glob("mutants/**/*.meta")):
        for mutant in json.loads(meta.read_text("utf-8"))["exit_code_by_key"]:
            yield f"{UNTRIED}\t{mutant}\n"


def logged(log: str) -> Iterator[str]:
    """The outcomes in a log of mutmut; its own files may be empty after an interruption."""
    for line in log.rpartition("Mutant results")[2].splitlines():
        mark, _, mutant = line.partition(" ")
        if mark in MARKS:
            yield f"{MARKS[mark]}\t{mutant}\n"


def table(kept: Sequence[Kept]) -> str:
    """The counts of each part, as Markdown."""
    counts = {part: Counter(each.outcome for each in kept if each.part == part) for part in PARTS}
    rows = {
        "mutants": [sum(count.values()) for count in counts.values()],
        "tried": [sum(count.values()) - count[UNTRIED] for count in counts.values()],
        **{
            name: [count[outcome] for count in counts.values()]
            for outcome, name in OUTCOMES.items()
        },
    }
    lines = [f"| | {' | '.join(PARTS.values())} |", f"|{'---|' * (len(PARTS) + 1)}"]
    lines += [
        f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |"
        for name, numbers in rows.items()
    ]
    return "\n".join(lines)


def with_table(page: str, made: str) -> str:
    """The page with this table between its two marks."""
    before, mark, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError("the page has no place for the table")
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


@cache
def committed(path: str) -> str:
    """Git's short name of a file's committed text; empty without such a file."""
    command = ["git", "rev-parse", "--short=10", "--quiet", "--verify", f"HEAD:{path}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main() -> None:
    """Carries out one command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("tried", "keep"):
        commands.add_parser(name).add_argument("part", choices=PARTS)
    commands.choices["tried"].add_argument("--again", action="append", default=[])
    commands.add_parser("made").add_argument("folder", type=Path)
    commands.add_parser("logged").add_argument("file", type=Path)
    commands.add_parser("table")
    arguments = parser.parse_args()
    kept = read(KEPT.read_text("utf-8")) if KEPT.exists() else []
    if arguments.command == "tried":
        names = tried(kept, arguments.part, arguments.again, committed)
        sys.stdout.writelines(f"{name}\n" for name in names)
    elif arguments.command == "made":
        sys.stdout.writelines(made(arguments.folder))
    elif arguments.command == "logged":
        sys.stdout.writelines(logged(arguments.file.read_text("utf-8")))
    elif arguments.command == "keep":
        KEPT.write_text(written(merged(kept, arguments.part, sys.stdin, committed)), "utf-8")
    else:
        PAGE.write_text(with_table(PAGE.read_text("utf-8"), table(kept)), "utf-8")


if __name__ == "__main__":
    main()
