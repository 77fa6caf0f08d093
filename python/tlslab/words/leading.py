"""The sentences of an answer by rankings: who leads, what has no place, other settings."""

from collections.abc import Sequence

from tlslab.domain.estimates import estimate_name, quantity
from tlslab.domain.finding import Summary, Values
from tlslab.domain.wording import (
    capital,
    cell_label,
    counted,
    difference,
    few,
    joined,
    ratio_figure,
    subject_noun,
)
from tlslab.words.numbers import with_interval, with_unit
from tlslab.words.places import on_server
from tlslab.words.sentence import Sentences, compared_name

# The largest number of cells that a sentence names; it counts the others.
_NAMED = 3

# The largest number of settings with another leader that a sentence names.
_SETTINGS = 2

_REASONS = {
    "invalid": "no valid result",
    "not_measured": "not measured",
    "not_the_limit": "not the server's limit",
}


def value_words(summary: Summary, key: str, estimate: str) -> str:
    """`3,412 (95 %: 3,390 to 3,440)`, `≥ 3,412` for a lower bound; with the unit of a cost."""
    cell = summary.cell(key)
    return with_unit(cell.estimates[estimate], cell.is_bound(estimate))


def _measured(summary: Summary, key: str, estimate: str) -> str:
    """`3,412 (95 %: 3,390 to 3,440) new connections/s`; costs are `of` something."""
    name = estimate_name(estimate)
    what = name if quantity(estimate).dimension == "rate" else f"of {name}"
    return f"{value_words(summary, key, estimate)} {what}"


def lead_words(values: Values, summary: Summary, noun: str = "") -> str:
    """`X25519 is the fastest key-exchange group: 3,877 (95 %: ...) new connections/s`.

    Without a full stop. Cells that cannot be told apart are named together, with the largest
    difference that is open between the first and the others; lower bounds are called so.
    """
    first, estimate = values["first"], values["estimate"]
    best = "fastest" if quantity(estimate).dimension == "rate" else "cheapest"
    name, value = compared_name(summary, first), _measured(summary, first, estimate)
    if not values["tied"]:
        return f"{name} is the {best}{noun and f' {noun}'}: {value}"
    tied = [compared_name(summary, key) for key in values["tied"]]
    open_ = "their order is not known"
    if not summary.cell(first).is_bound(estimate):
        left = values["may_differ"]
        size = "any size" if left is None else f"up to {difference(left)}"
        open_ = f"no difference between them is established, one of {size} is not excluded"
    nouns = f" {noun}s" if noun else ""
    names = few([name, *tied], _NAMED, 1)
    return f"{names} are the {best}{nouns} ({open_}); {name}: {value}"


def tests_of_servers(pairs: int) -> str:
    """The tests that place the best cells of servers."""
    if pairs == 1:
        return "the test of their one pair of cells"
    return f"tests of all {counted(pairs, 'pair')} of their cells together (Holm)"


def _leads(values: Values, cells: Sequence[str], summary: Summary) -> str:
    noun = subject_noun(summary.experiment.baseline)
    text = f"{capital(lead_words(values, summary, noun))} {on_server(values['where'])}"
    if values["next"] is None:
        return f"{text}."
    ratio, name = values["next"]["ratio"], compared_name(summary, values["next"]["cell"])
    if summary.cell(values["first"]).is_bound(values["estimate"]):
        return f"{text}, at least {ratio_figure(ratio.low)} times that of {name}."
    times = with_interval(ratio, unit="times")
    return f"{text}, {times} that of {name}."


def _leads_kept_open(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return f"{lead_words(values, summary)}."


def _alike(values: Values, cells: Sequence[str], summary: Summary) -> str:
    every = "Both" if values["cells"] == 2 else f"All {values['cells']}"
    return (
        f"{every} {subject_noun(summary.experiment.baseline)}s are within "
        f"{difference(values['difference'])} of each other by "
        f"{estimate_name(values['estimate'])} {on_server(values['where'])}."
    )


def _alone(values: Values, cells: Sequence[str], summary: Summary) -> str:
    name = capital(compared_name(summary, values["cell"]))
    measured = _measured(summary, values["cell"], values["estimate"])
    return f"{name}: {measured} {on_server(values['where'])}."


def _without_place(values: Values, cells: Sequence[str], summary: Summary) -> str:
    parts = []
    if values["open"]:
        first, *others = values["open"]
        more = f", and {counted(len(others), 'other')}" if others else ""
        parts.append(
            f"how fast {compared_name(summary, first)} "
            f"({value_words(summary, first, values['estimate'])}){more} can be is not known: the "
            "generator was the limit"
        )
    if values["unranked"]:
        named = [
            f"{few([compared_name(summary, key) for key in keys], _NAMED, 1)} ({_REASONS[reason]})"
            for reason, keys in values["unranked"].items()
        ]
        parts.append(f"not ranked: {joined(named)}")
    return f"{capital('; '.join(parts))}."


def _others_lead(values: Values, cells: Sequence[str], summary: Summary) -> str:
    settings = values["settings"]
    words = []
    for each in settings[:_SETTINGS]:
        names = [compared_name(summary, key) for key in each["leaders"][:_SETTINGS]]
        words.append(f"{' or '.join(names)} with {cell_label(each['setting'])}")
    if more := len(settings) - len(words):
        words.append(f"others in {counted(more, 'more setting')}")
    return f"Elsewhere another leads: {joined(words)}."


def _leads_elsewhere(values: Values, cells: Sequence[str], summary: Summary) -> str:
    name, known = compared_name(summary, values["first"]), values["settings"]
    where = f"In {counted(known, 'other setting')}"
    if known == values["all_settings"]:
        where = f"In the {counted(known, 'other setting')}"
    if values["all_settings"] == 1:
        where = f"With {cell_label(values['setting'])},"
    if not values["ties"]:
        alone = f"{name} alone leads" if values["shares_lead"] else f"{name} leads, too"
        return f"{where} {alone}."
    open_ = "by how much they may differ is not known"
    if None not in values["ties"]:
        open_ = f"they may differ by up to {difference(max(values['ties']))}"
    return f"{where} {name} leads, or cannot be told apart from the first ({open_})."


def _blocks(values: Values, cells: Sequence[str], summary: Summary) -> str:
    holds = " that hold after every block" if values["anytime"] else ""
    words = f"{counted(values['blocks'], 'block')} in random order, intervals of 95 %{holds}"
    if values["pairs"]:
        words += f"; {counted(values['pairs'], 'pair')} tested together at 5 % (Holm)"
    if (pairs := values.get("server_pairs")) is not None:
        words += f"; the servers by {tests_of_servers(pairs)}"
    return words


def _blocks_of_candidates(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return (
        f"{counted(values['blocks'], 'block')} with all candidates; probabilities by the Bayesian "
        "bootstrap over blocks"
    )


def _none_apart(values: Values, cells: Sequence[str], summary: Summary) -> str:
    noun = subject_noun(summary.experiment.baseline)
    text = f"No two of the {values['cells']} {noun}s can be told apart"
    left = values["may_differ"]
    text += "." if left is None else f"; they may differ by up to {difference(left)}."
    if values["bounded"]:
        text += " The generator was the limit of some: their rates are lower bounds."
    return text


def _one_ranked(values: Values, cells: Sequence[str], summary: Summary) -> str:
    noun = subject_noun(summary.experiment.baseline)
    name = compared_name(summary, values["cell"])
    return f"Only {name} of {values['of']} {noun}s can be ranked: the table says why."


def _too_wide(values: Values, cells: Sequence[str], summary: Summary) -> str:
    name = compared_name(summary, values["cell"])
    return f"The interval of {name} is too wide for a sentence."


def _only_bounds(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return "The generator was the limit in every cell: rates are lower bounds without order."


def _nothing_ranked(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return "No cell has a result that may be ranked: the warnings say why."


def _without_tls(values: Values, cells: Sequence[str], summary: Summary) -> str:
    """What TLS costs: the baseline has no rank."""
    if values["ratio"] is None:
        return "Without TLS is the baseline, and not ranked."
    cost = quantity(values["estimate"]).dimension == "cost"
    of = "the server's time for a new connection" if cost else "the rate of new connections"
    times = with_interval(values["ratio"], unit="times")
    name = compared_name(summary, values["cell"])
    return f"Without TLS is the baseline, and not ranked: {of} with {name} is {times} that."


SENTENCES: Sentences = {
    "alike": _alike,
    "alone": _alone,
    "blocks": _blocks,
    "blocks_of_candidates": _blocks_of_candidates,
    "leads": _leads,
    "leads_elsewhere": _leads_elsewhere,
    "leads_kept_open": _leads_kept_open,
    "none_apart": _none_apart,
    "nothing_ranked": _nothing_ranked,
    "one_ranked": _one_ranked,
    "only_bounds": _only_bounds,
    "others_lead_elsewhere": _others_lead,
    "too_wide": _too_wide,
    "without_place": _without_place,
    "without_tls": _without_tls,
}
