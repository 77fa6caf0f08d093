"""The sentences of runs of the kind `effects`."""

from collections.abc import Mapping, Sequence
from typing import Any

from tlslab.domain.effects import NAMES
from tlslab.domain.estimates import quantity
from tlslab.domain.factors import FACTORS
from tlslab.domain.finding import Summary, Values
from tlslab.domain.wording import (
    capital,
    counted,
    difference,
    few,
    joined,
    level_label,
    short_label,
)
from tlslab.words.numbers import with_interval
from tlslab.words.round_trips import waits_less
from tlslab.words.sentence import Sentences
from tlslab.words.validity import message

Cells = tuple[str, ...]


def _effects(values: Values, cells: Cells, summary: Summary) -> str:
    """`New connection: ECDSA P-256 takes 0.49 times (...) the server's time of RSA-2048; ...`."""
    cost = quantity(values["estimate"]).dimension == "cost"
    verb, of = ("takes", "the server's time of") if cost else ("carries", "the rate of")
    parts, plain = [], True
    for each in values["effects"]:
        parts.append(_effect(each, verb if plain else "", of if plain else ""))
        plain = plain and not (each["established"] or each["at"])
    return f"{capital(NAMES[values['measure']])}: {'; '.join(parts)}."


def _effect(each: Mapping[str, Any], verb: str, of: str) -> str:
    level, against = (level_label(each["factor"], each[name]) for name in ("level", "against"))
    if each["at"]:
        levels = joined([_at(at) for at in each["at"]])
        return f"{level} {verb or 'takes'} {levels} {of or 'that of'} {against}"
    if not each["established"]:
        left = each["may_differ"]
        if left is None:
            return f"{level} and {against}: not told apart"
        return f"{level} and {against} differ by {difference(left)} at most"
    text = " ".join(filter(None, (level, verb, with_interval(each["ratio"], unit="times"))))
    text += f" {of} {against}" if of else f" that of {against}"
    if each["alike"]:
        names = joined([_noun(name) for name in each["alike"]])
        return f"{text}, alike for every {names}"
    return text


def _at(at: Mapping[str, Any]) -> str:
    (name,) = (name for name in at if name != "ratio")
    return f"{with_interval(at['ratio'], unit='times')} with {level_label(name, at[name])}"


def _noun(factor: str) -> str:
    row = FACTORS[factor]
    return row.noun or row.heading or factor


def _best_combination(values: Values, cells: Cells, summary: Summary) -> str:
    row = quantity(values["estimate"])
    what = "Most new connections/s" if row.more_is_better else "Least of the server's time"
    unit = "/s" if row.more_is_better else "µs"
    name = short_label(values["levels"])
    return (
        f"{what} for a {NAMES[values['measure']]}: {name}, "
        f"{with_interval(values['value'], unit=unit)}{_not_apart(values['not_apart'])}."
    )


def _not_apart(others: Sequence[Mapping[str, str]]) -> str:
    if not others:
        return ""
    return f"; not told apart from it: {few([short_label(levels) for levels in others])}"


def _measure_missing(values: Values, cells: Cells, summary: Summary) -> str:
    note = values["why"]
    why = "" if note is None else note.message or message(note) or note.code
    return f"{capital(NAMES[values['measure']])}: no result{f' ({why})' if why else ''}."


def _round_trips(values: Values, cells: Cells, summary: Summary) -> str:
    """The version with the fewest round trips, and the one with the most."""
    ordered = sorted(values["of"].items(), key=lambda item: item[1])
    fewer, more = (
        (level_label("tls", version), trips) for version, trips in (ordered[0], ordered[-1])
    )
    return f"Round trips are not in these figures: {waits_less(fewer, more)}."


def _certainty(values: Values, cells: Cells, summary: Summary) -> str:
    return (
        f"{counted(values['n'], 'block')}, paired; intervals of 95 %, each by itself; "
        f"{counted(values['family'], 'effect')} and interactions judged together"
    )


def _open(values: Values, cells: Cells, summary: Summary) -> str:
    return f"{counted(values['open'], 'effect')} may still be a difference of 10 % or more."


def _nothing(values: Values, cells: Cells, summary: Summary) -> str:
    return "No two combinations have a valid result."


SENTENCES: Sentences = {
    "best_combination": _best_combination,
    "effects": _effects,
    "effects_certainty": _certainty,
    "effects_open": _open,
    "measure_missing": _measure_missing,
    "nothing_compared": _nothing,
    "round_trips": _round_trips,
}
