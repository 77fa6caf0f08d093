"""From folded stacks to a flame graph without its narrow frames.

Frames with equal callers lie side by side, the widest first, above their caller (Gregg 2016, "The
flame graph", Communications of the ACM 59). A frame has the part of most of its samples. Unnamed
frames are left out unless they are innermost.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tlslab.analysis.why.rules import UNKNOWN, Rules, stacks_of
from tlslab.domain.stacks import CellStacks, Flame, Frame

# Frames below this share of the samples are left out.
PRUNED = 0.005

# A frame gets the part that has at least this share of its samples.
_MOST = 0.6
SEVERAL = "several parts"


@dataclass
class _Node:
    samples: int = 0
    parts: Counter[str] = field(default_factory=Counter)
    inner: dict[str, "_Node"] = field(default_factory=dict)


def flame(stacks: CellStacks, title: str, rules: Rules, pruned: float = PRUNED) -> Flame:
    """The flame graph of a cell."""
    root = _Node()
    for frames, number in stacks_of(stacks.folded):
        part = rules.part_of(frames)
        _add(root, frames, number, part)
    total = max(1, root.samples)
    id_ = re.sub(r"[^A-Za-z0-9]+", "-", stacks.cell).strip("-")
    return Flame(id_, title, root.samples, pruned, tuple(_frames(root, 0, 0, total, pruned)))


def _add(root: _Node, frames: Sequence[str], number: int, part: str) -> None:
    node = root
    node.samples += number
    for frame in _named(frames):
        node = node.inner.setdefault(frame, _Node())
        node.samples += number
        node.parts[part] += number


def _named(frames: Sequence[str]) -> list[str]:
    """The named frames, and the innermost one even without a name."""
    last = len(frames) - 1
    return [
        frame
        for place, frame in enumerate(frames)
        if place == last or not frame.endswith(f"`{UNKNOWN}")
    ]


def _frames(node: _Node, depth: int, start: int, total: int, pruned: float) -> Iterator[Frame]:
    """The frames above a node, each followed by those above it."""
    ordered = sorted(node.inner.items(), key=lambda item: (-item[1].samples, item[0]))
    for name, inner in ordered:
        share = inner.samples / total
        if share < pruned:
            return
        part, count = max(inner.parts.items(), key=lambda item: (item[1], item[0]))
        one = part if count >= _MOST * inner.samples else SEVERAL
        yield Frame(name, depth, start / total, share, inner.samples, one)
        yield from _frames(inner, depth + 1, start, total, pruned)
        start += inner.samples
