"""From the text of `perf script` to folded stacks: a line per stack, with its number of samples."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

KERNEL = "kernel"
UNKNOWN = "?"

# The function that the call before a file offset calls; empty if unknown.
Callee = Callable[[str, int], str]

_FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")
_LOST = re.compile(r"PERF_RECORD_LOST\S* lost (\d+)")

# Suffixes that compilers add to the name of a part of a function, or of a copy of it.
_COPY = re.compile(r"(\.(constprop|isra|part|cold|llvm)(\.\d+)*)+$|@@?[A-Z][\w.]*$|@plt$")
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")


@dataclass(frozen=True)
class Folded:
    """Stacks with their numbers of samples, and the number of lost samples."""

    text: str
    samples: int
    lost: int


def fold(script: Iterable[str], callee: Callee = lambda path, place: "") -> Folded:
    """The stacks of the lines of `perf script -F comm,ip,sym,dso --show-lost-events`.

    The lines are read once, and only those of one sample are held at a time. An unnamed frame gets
    the name of the function that its caller calls, if `callee` knows it.
    """
    counted: Counter[str] = Counter()
    lost = 0
    for record in _records(script):
        lost += sum(int(each[1]) for line in record for each in _LOST.finditer(line))
        if stack := _stack(record, callee):
            counted[stack] += 1
    lines = [f"{stack} {number}" for stack, number in sorted(counted.items())]
    return Folded("\n".join(lines), sum(counted.values()), lost)


def _records(lines: Iterable[str]) -> Iterator[list[str]]:
    """Groups of lines, separated by empty lines, without line ends."""
    record: list[str] = []
    for line in lines:
        if line.strip():
            record.append(line.rstrip("\n"))
        elif record:
            yield record
            record = []
    if record:
        yield record


def _stack(lines: Sequence[str], callee: Callee) -> str:
    """One sample's stack, the outermost frame first; empty for a record that is no sample."""
    heads = [line for line in lines if line and not line[0].isspace()]
    heads = [line for line in heads if "PERF_RECORD_LOST" not in line]
    whole = [line.replace(" (deleted))", ")") for line in lines]
    found = [match for line in whole if (match := _FRAME.match(line))]
    if not heads or not found:
        return ""
    names = [_symbol(each[2]) for each in found]
    for number, caller in enumerate(found[1:]):
        if names[number] == UNKNOWN and not caller[3].startswith("["):
            names[number] = _symbol(callee(caller[3], int(caller[1], 16)) or "[unknown]")
    frames = [f"{_library(each[3])}`{name}" for each, name in zip(found, names, strict=True)]
    process = heads[0].strip().replace(";", ",")
    return ";".join([process, *_without_repeats(reversed(frames))])


def _without_repeats(frames: Iterator[str]) -> Iterator[str]:
    """The frames, with runs of unknown frames of one library joined into one."""
    last = ""
    for frame in frames:
        if frame != last or not frame.endswith(f"`{UNKNOWN}"):
            yield frame
        last = frame


def _library(path: str) -> str:
    """The file's name; `kernel` for the kernel and its modules."""
    if path.startswith("["):
        inside = path.strip("[]")
        if inside in ("vdso", "unknown"):
            return inside if inside == "vdso" else UNKNOWN
        return KERNEL
    name = path.rsplit("/", 1)[-1]
    return re.sub(r"[;`\s]", "_", name) or UNKNOWN


def _symbol(text: str) -> str:
    if text == "[unknown]":
        return UNKNOWN
    name = _RUST_HASH.sub("", _COPY.sub("", text))
    return re.sub(r"[;`]", ",", name)
