"""The sentences of the samples of a server's call stacks."""

from collections.abc import Sequence
from dataclasses import replace

from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Summary, Values
from tlslab.domain.wording import counted, joined, percent
from tlslab.words.numbers import with_interval
from tlslab.words.sentence import Sentences


def _without_samples(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return f"No parts of the cost of {counted(values['cells'], 'cell')}: {values['reason']}."


def _lost_samples(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return (
        f"{values['name']}: perf lost {percent(values['share'])} of its samples "
        f"({values['lost']:,}); parts may be larger or smaller than their intervals say."
    )


def _not_attributed(values: Values, cells: Sequence[str], summary: Summary) -> str:
    share = percent(values["share"])
    return f"{values['name']}: no rule knows {share} of the server's samples."


def _parts(values: Values, cells: Sequence[str], summary: Summary) -> str:
    """The largest parts of a cell's cost."""
    cost = values["cost"]
    words = [
        f"{name} {with_interval(part)} µs ({percent(part.value / cost.value)})"
        for name, part in values["parts"].items()
    ]
    return (
        f"{values['name']}: of {with_interval(cost)} µs of the server's processor time, "
        f"{joined(words)}."
    )


def _agrees(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return (
        f"{_effect(values)}: they agree, less than a quarter of the effect is in other parts: "
        f"{_elsewhere(values)}."
    )


def _disagrees(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return f"{_effect(values)}: they do not agree, {_elsewhere(values)}."


def _cannot_tell(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return f"{_effect(values)}: whether they agree is open, {values['open']}: {_elsewhere(values)}."


def _effect(values: Values) -> str:
    """The extra cost of a level, and that of the part that should contain it."""
    return (
        f"{values['level']} instead of {values['against']} costs the server "
        f"{_change(values['effect'])} by {values['source']}; by samples the {values['part']} takes "
        f"{_change(values['sampled'])}"
    )


def _elsewhere(values: Values) -> str:
    rest, family = values["elsewhere"], values["family"]
    together = "" if family < 2 else f" (95 % for {family} comparisons together)"
    rest = _turned(rest) if values["effect"].value < 0 else rest
    return f"{with_interval(rest)} µs are elsewhere{together}"


def _change(change: Estimate) -> str:
    """`43.0 (95 %: 36.0 to 50.0) µs less`, with the other direction if it is not excluded."""
    more, less = ("more", "less") if change.value >= 0 else ("less", "more")
    words = f"{with_interval(change if change.value >= 0 else _turned(change))} µs {more}"
    if change.low is not None and change.high is not None and change.low <= 0 <= change.high:
        words += f" ({less} is not excluded)"
    return words


def _turned(found: Estimate) -> Estimate:
    """The estimate with the other sign."""
    low, high = (None if end is None else -end for end in (found.high, found.low))
    return replace(found, value=-found.value, low=low, high=high)


SENTENCES: Sentences = {
    "why": _parts,
    "why_agrees": _agrees,
    "why_cannot_tell": _cannot_tell,
    "why_disagrees": _disagrees,
    "why_lost_samples": _lost_samples,
    "why_not_attributed": _not_attributed,
    "why_without_samples": _without_samples,
}
