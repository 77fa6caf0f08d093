"""The levels that are not recommended, in words, grouped by their gravest objection."""

from collections.abc import Iterator

from tlslab.advice.field import Field
from tlslab.domain.wording import counted, few, joined

# The largest number of objections in a brief list.
_OBJECTIONS = 8


def left_out_lines(field: Field, every: bool = False) -> Iterator[str]:
    """A line for each objection, the most frequent first; `every`: with all levels concerned."""
    by_objection: dict[str, list[str]] = {}
    for entry in {each.name: each for each in field.objected}.values():
        by_objection.setdefault(entry.graded.gravest, []).append(entry.short)
    groups = sorted(by_objection.items(), key=lambda group: -len(group[1]))
    shown = groups if every else groups[:_OBJECTIONS]
    for objection, names in shown:
        yield f"left out, {len(names)}: {objection}: {joined(names) if every else few(names)}"
    if more := groups[len(shown) :]:
        names = [name for _, each in more for name in each]
        reasons = counted(len(more), "other reason")
        yield f"left out, {len(names)}: for {reasons}; --details has all of them"
