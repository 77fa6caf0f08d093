"""The verdict of a gate, in lines for a terminal and a job's log."""

from collections.abc import Iterator

from tlslab.domain.estimates import estimate_name
from tlslab.domain.finding import Comparison
from tlslab.domain.gate import Gate, Gated
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.wording import cell_label, counted, difference, ratio_figure
from tlslab.words.numbers import NO_INTERVAL

_WORDS = {
    "slower": "slower than allowed",
    "passed": "passes",
    "cannot_tell": "cannot tell",
}

# The lines that a gate prints without --details.
GATE = 10


def gate_lines(found: Gate, details: bool = True) -> Iterator[str]:
    """One line for each ratio, the worst first; without details the first of them."""
    lines = list(_gate_lines(found))
    yield from lines if details else lines[:GATE]
    if not details and len(lines) > GATE:
        yield f"gate: {counted(len(lines) - GATE, 'more ratio')}: --details"


def _gate_lines(found: Gate) -> Iterator[str]:
    order = ("slower", "cannot_tell", "passed")
    for each in sorted(found.ratios, key=lambda each: (order.index(each.verdict), -each.high)):
        yield f"gate: {_line(each, len(found.ratios))}"
    for bare in found.undecided:
        yield f"gate: {_where(bare)}: {_without(bare)}: cannot tell"


def _without(found: Comparison) -> str:
    """The reason that a ratio cannot be judged."""
    if not found.n or found.verdict == "not_comparable":
        return found.method
    return f"fewer than {LEAST_BLOCKS} trials" if found.n < LEAST_BLOCKS else NO_INTERVAL


def _where(found: Comparison) -> str:
    """The cell and the estimate, in words."""
    levels = (part.partition("=") for part in (found.candidate or found.baseline).split(","))
    return (
        f"{cell_label({name: level for name, _, level in levels})}, {estimate_name(found.estimate)}"
    )


def _findable(ratios: int) -> str:
    """How often a slowdown of the stated size is found.

    For one ratio of ten it is 84 times in 100 (tests/unit/analysis/test_gate.py), because the
    degrees of freedom of its error are estimated, too.
    """
    return f"is found in {'9 of 10' if ratios == 1 else 'most'} such runs"


def _line(each: Gated, ratios: int) -> str:
    words = _WORDS[each.verdict]
    least, most = (f"{ratio_figure(bound)} times as slow" for bound in (each.low, each.high))
    match each.comparison.bounded:
        case "baseline":
            slowdown = f"at least {least} (95 %; the first side is a lower bound)"
        case "candidate":
            slowdown = f"at most {most} (95 %; the second side is a lower bound)"
        case None:
            bounds = f"at least {ratio_figure(each.low)}, at most {ratio_figure(each.high)}"
            slowdown = f"{ratio_figure(each.slowdown)} times as slow ({bounds}, each 95 %)"
            if each.verdict == "cannot_tell":
                words += f": a slowdown of {difference(each.findable)} {_findable(ratios)}"
    return f"{_where(each.comparison)}: {slowdown}: {words}"


def gate_words(found: Gate) -> str:
    """The verdict over all ratios."""
    limit = f"{found.limit * 100:g} %"
    if not found.ratios and not found.undecided:
        return "there is no ratio that the gate looks at: cannot tell"
    if found.verdict == "slower":
        slow = sum(each.verdict == "slower" for each in found.ratios)
        return f"{counted(slow, 'ratio')} slower by more than {limit} (95 %)"
    if found.verdict == "passed":
        return (
            f"a slowdown of more than {limit} is excluded in {counted(len(found.ratios), 'ratio')}"
        )
    text = f"cannot tell whether a slowdown of more than {limit} is there"
    if found.undecided:
        counts = counted(len(found.undecided), "ratio")
        text += f"; {counts} cannot be judged, for the reasons above"
    cannot_tell = [each for each in found.ratios if each.verdict == "cannot_tell"]
    open_ = [each.findable for each in cannot_tell if each.comparison.bounded is None]
    if not open_:
        return text

    one = " in one ratio" if len(open_) > 1 else ""
    return f"{text}; a slowdown of {difference(max(open_))}{one} {_findable(len(found.ratios))}"
