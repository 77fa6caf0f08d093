"""The price of a choice against its rivals, in words that the intervals support.

A rival is called better only if the difference is established among all prices (Holm). Otherwise
the sentence says that the two cannot be told apart, and which difference is excluded.
"""

from collections.abc import Iterator

from tlslab.advice.choice import Price, Recommendation
from tlslab.domain.estimates import estimate_name, quantity
from tlslab.domain.finding import Comparison
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.trade_off import TOLERANCE, probability_words
from tlslab.domain.wording import counted, difference, number_word, percent, ratio_figure

# From this difference on, as a share, `difference` gives no figure.
_WITHOUT_END = 9.0


def price_lines(found: Recommendation) -> Iterator[str]:
    """The price of the choice, one line per rival; then the meaning of the intervals."""
    measure = found.trade_offs.measure
    if measure and all(each.measure != measure for each in found.prices):
        by = estimate_name(measure)
        if found.trade_offs.verdict == "too_few":
            yield f"price: not known by {by}: fewer than {LEAST_BLOCKS} blocks have no comparison."
        else:
            yield f"price: none by {by}: nothing that was measured is established to be better."
    for each in found.prices:
        yield f"price: {price_words(found, each)}"
    if len(found.prices) > 1:
        yield (
            f"intervals: each that of one ratio alone (95 %); what is better is established among "
            f"all {counted(len(found.prices), 'ratio')} together (Holm, 5 %)"
        )


def price_words(found: Recommendation, price: Price) -> str:
    """One price as a sentence."""
    rival = found.field.entry(price.cell)
    other, by = rival.short, estimate_name(price.measure)
    value = f"{found.chosen.short} has {_times(price)} times its value"
    if not price.established:
        value += f": {_open_words(price.comparison)}"
    match price.rival:
        case "fastest":
            what = "the best of all" if price.leads and price.established else _first(price.measure)
            return f"{what} by {by} is {other}, not recommended: {rival.graded.objection}; {value}."
        case "safest":
            return f"security: safer by the policies is {other}; by {by} {value}."
        case "fastest_allowed":
            return f"security: {_better(found, price)}; {value}."
        case _:
            return f"elsewhere: {_better(found, price)}; {value}."


def _first(measure: str) -> str:
    """The name for the first of all if it is not established to be the best."""
    return "the highest measured" if quantity(measure).more_is_better else "the lowest measured"


def _better(found: Recommendation, price: Price) -> str:
    """A clause that the rival is better, or its probability to be the best."""
    other, by = found.field.entry(price.cell).short, estimate_name(price.measure)
    if price.established and price.rival_is_better:
        return f"by {by} {other} is better{_void(price.comparison)}"
    weighed = found.trade_offs.cell(price.cell)
    share = 0.0 if weighed is None else weighed.best.get(price.measure, 0.0)
    return f"by {by} the likeliest best is {other} (probability {probability_words(share)})"


def _void(found: Comparison) -> str:
    """A clause that an established difference is negligible."""
    if found.may_differ is None or found.may_differ > TOLERANCE:
        return ""
    return f", by less than {percent(TOLERANCE)}: that counts as none in the Pareto set"


def _open_words(found: Comparison) -> str:
    """The knowledge about two cells between which no difference is established."""
    left = found.may_differ
    if found.verdict == "not_comparable":
        return "a lower bound, which establishes nothing here"
    if left is None or found.n < LEAST_BLOCKS:
        few = number_word(LEAST_BLOCKS)
        return f"they cannot be told apart: fewer than {few} blocks establish no difference"
    if left >= _WITHOUT_END:
        return f"they cannot be told apart, and may differ by {difference(left)}"
    if found.verdict == "equivalent":
        return f"no difference is established, and more than {difference(left)} is excluded"
    return f"they cannot be told apart, and more than {difference(left)} is excluded"


def _times(price: Price) -> str:
    found = price.comparison
    sign = "at most " if price.is_bound else ""
    if found.low is None or found.high is None or found.n < LEAST_BLOCKS:
        return f"{sign}{ratio_figure(found.ratio)}"
    low, high = ratio_figure(found.low), ratio_figure(found.high)
    return f"{sign}{ratio_figure(found.ratio)} (95 %: {low} to {high})"
