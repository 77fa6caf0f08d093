"""The sentences of runs of the kind `effects`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tlslab.domain.effects import SHARES, Measure
from tlslab.domain.estimates import quantity
from tlslab.domain.factors import FACTORS
from tlslab.domain.figure import DataTable, TableCell
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
from tlslab.words.validity import message, reasons_words

Cells = tuple[str, ...]

NAMES: Mapping[Measure, str] = {
    "new": "new connection",
    "resumed": "resumed connection",
    "request": "request on a connection kept open",
    "mix": "connection of the mix",
}


def _effects(values: Values, cells: Cells, summary: Summary) -> str:
    """`New connection: the server's time with TLS 1.3 is 1.15 times (...) that with TLS 1.2; ...`.

    What the numbers are of is said once.
    """
    cost = quantity(values["estimate"]).dimension == "cost"
    of = "the server's time" if cost else "the rate"
    first, *rest = values["effects"]
    said = [f"{of} {_effect(first, ' is')}", *map(_effect, rest)]
    return f"{capital(NAMES[values['measure']])}: {'; '.join(said)}."


def _effect(each: Mapping[str, Any], verb: str = "") -> str:
    level, against = (level_label(each["factor"], each[name]) for name in ("level", "against"))
    if each["at"]:
        levels = joined([_at(at) for at in each["at"]])
        return f"with {level} instead of {against}{verb} {levels}"
    if not each["established"]:
        left = each["may_differ"]
        pair = f"with {level} and with {against}"
        apart = "not told apart" if left is None else f"{difference(left)} apart at most"
        return f"{pair}: {apart}"
    text = f"with {level}{verb} {with_interval(each['ratio'], unit='times')} that with {against}"
    if each["alike"]:
        names = joined([_noun(name) for name in each["alike"]])
        return f"{text}, alike for every {names}"
    return text


def _at(at: Mapping[str, Any]) -> str:
    (name,) = (name for name in at if name != "ratio")
    return f"{with_interval(at['ratio'], unit='times')} for {level_label(name, at[name])}"


def _noun(factor: str) -> str:
    row = FACTORS[factor]
    return row.noun or row.heading or factor


def _best_combination(values: Values, cells: Cells, summary: Summary) -> str:
    row = quantity(values["estimate"])
    what = "Most new connections/s" if row.more_is_better else "Least of the server's time"
    if values.get("with_tls"):
        what = f"With TLS, {what[0].lower()}{what[1:]}"
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


def with_reasons(table: DataTable, summary: Summary) -> DataTable:
    """The table of combinations with the reason in each row that lacks a value."""
    rows = (
        (*row[:-1], _reasons(str(row[0]), summary) if None in _values(row) else None)
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))


def _values(row: Sequence[TableCell]) -> Sequence[TableCell]:
    """The values of a combination, without name, negotiated settings, round trips and ratios."""
    return row[3:-1:2]


def _reasons(label: str, summary: Summary) -> str:
    """The reasons of a combination's cells, each with what it measures."""
    varied = summary.experiment.baseline
    of_share = {share: measure for measure, share in SHARES.items()}
    found = [(cell.factors, reasons_words(cell)) for cell in summary.cells]
    found += [(each.factors, each.reason) for each in summary.excluded]
    said = [
        f"{of_share.get(factors.get('resumed', ''), 'all')}: {reason}"
        for factors, reason in found
        if reason and short_label({name: factors[name] for name in varied}) == label
    ]
    return "; ".join(dict.fromkeys(said)) or "not measured"


def method(summary: Summary) -> tuple[str, ...]:
    """How a question is measured and judged, in paragraphs."""
    window = summary.experiment.workload["capacity"]
    return (
        "Every combination of levels is measured in every block, in an order drawn anew, against a "
        "server that is started afresh for each block where the lab starts it: "
        f"{window['warmup_ms'] / 1000:g} s discarded, {window['measure_ms'] / 1000:g} s of a "
        "closed loop counted. The handshake of every connection was read and compared with the one "
        "asked for.",
        "An effect is the mean, over the combinations of the other factors, of the logarithms of "
        "the ratios of two combinations that differ in this factor alone: one value from each "
        "block that has all of them. Intervals are Student's over blocks, 95 %, each by itself. An "
        "effect is said if it differs from 1 in the family of all effects and interactions of the "
        "run (Holm, 5 %). Where one factor changes another's effect, it is said at each level; "
        "these, and what is not told apart from the best combination, are judged beside the "
        "family.",
    )


SENTENCES: Sentences = {
    "best_combination": _best_combination,
    "effects": _effects,
    "effects_certainty": _certainty,
    "effects_open": _open,
    "measure_missing": _measure_missing,
    "nothing_compared": _nothing,
    "round_trips": _round_trips,
}
