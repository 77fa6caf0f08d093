"""A recommendation in words: its reason, its price, and its limits.

A rival is called better only if the difference is established among all prices (Holm). Otherwise
the sentence says that the two cannot be told apart, and which difference is excluded.
"""

from collections.abc import Iterator, Sequence
from datetime import date

from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import estimate_name, quantity
from tlslab.domain.figure import DataTable
from tlslab.domain.finding import Comparison, Summary, Values
from tlslab.domain.grading import Source, age_words, as_of, successor_words
from tlslab.domain.recommendation import FileDescription, Grounds, Price, RecommendedChoice
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.trade_off import TOLERANCE, probability_words
from tlslab.domain.wording import (
    capital,
    counted,
    difference,
    few,
    figure,
    joined,
    number_word,
    percent,
    ratio_figure,
    subject_noun,
)
from tlslab.words.numbers import with_interval
from tlslab.words.sentence import Sentences, compared_name

# A cell counts as one of the Pareto set if its probability of being in it exceeds this.
LIKELY = 0.5

# The largest number of objections in a brief list.
_OBJECTIONS = 8

# From this difference on, as a share, `difference` gives no figure.
_WITHOUT_END = 9.0

_UNITS = {"us": " µs", "ms": " ms", "1/s": "/s", "B": " B"}


def comments(found: RecommendedChoice, grounds: Grounds, file: FileDescription) -> tuple[str, ...]:
    """The sentences at the head of a file: the order, why it is this one, what it costs."""
    by = found.trade_offs.measure
    return (
        f"tlslab recommend, aim {found.aim}: {_headline(found)}",
        f"{file.title}: {file.use}.",
        _basis(found, grounds),
        reason(found),
        *(f"price: {price_words(found, each)}" for each in found.prices if each.measure == by),
        *left_out_lines(grounds, every=True),
        *((f"Also in this file: {file.beside}",) if file.beside else ()),
    )


def quoted(found: RecommendedChoice) -> str:
    """The recommendation for a report, in sentences."""
    where = f" ({found.where})" if found.where else ""
    text = f"{found.name} is recommended on {found.server}{where}, aim {found.aim}."
    text = f"{text} {reason(found)}"
    if unmeasured := [found.names[key] for key in found.trade_offs.unmeasured]:
        text += f" No valid measurement, and {_place(found)}: {few(unmeasured)}."
    return text


def _fastest(found: RecommendedChoice) -> str:
    """The price against the best of all, if a policy objects to that one; else empty."""
    faster = next((price for price in found.prices if price.rival == "fastest"), None)
    return "" if faster is None else capital(price_words(found, faster))


def _recommendation(values: Values, cells: tuple[str, ...], summary: Summary) -> str:
    """The whole recommendation; or the choice alone, for an answer that names other leaders."""
    if "choice" in values:
        price = _fastest(values["choice"]) if values["with_price"] else ""
        return f"{quoted(values['choice'])} {price}".rstrip()
    measure = values["measure"]
    why = f"by {estimate_name(measure)}" if measure else "by the policies alone"
    return f"Recommended on {values['server']}, {why}: {values['name']}."


def _price(values: Values, cells: tuple[str, ...], summary: Summary) -> str:
    """The price of the choice, or what policies object to in the leaders."""
    if price := _fastest(values["choice"]):
        return price
    name, others = compared_name(summary, values["leader"]), values["others"]
    more = f"; likewise {counted(others, 'other')}" if others else ""
    return (
        f"Among the first by {estimate_name(values['estimate'])} is {name}, but policies object to "
        f"it: {values['objection']}{more}."
    )


def _policies_object(values: Values, cells: tuple[str, ...], summary: Summary) -> str:
    if values["choice"] is not None:
        return (
            f"{reason(values['choice'])} Policies object to the first of all: the table says why."
        )
    noun = subject_noun(summary.experiment.baseline)
    return f"Policies object to every {noun} that was measured: the table of grades says why."


def explanation(
    found: RecommendedChoice,
    grounds: Grounds,
    file: FileDescription,
    day: date,
    details: bool = False,
) -> Iterator[str]:
    """The lines for people; the table of the Pareto set belongs below them.

    `day`: the day by which policies may be old. `details`: all names, however many, what the file's
    comments say, too, and what the order of the file means to the server.
    """
    yield f"recommended for {file.title}, aim {found.aim}: {_headline(found)}"
    yield f"why: {reason(found)}"
    yield from _price_lines(found)
    if details:
        yield f"basis: {_basis(found, grounds)}"
    yield from _policies(grounds.policies, day)
    yield from left_out_lines(grounds, details)
    if lacking := grounds.lacking:
        names = joined(lacking) if details else few(lacking)
        yield f"left out, {len(lacking)}: {found.server} was not seen to do it in this run: {names}"
    if unmeasured := [found.names[key] for key in found.trade_offs.unmeasured]:
        names = joined(unmeasured) if details else few(unmeasured)
        yield f"{_place(found)}: {names}: no valid measurement in this run"
    if file.beside and details:
        yield f"also in the file: {file.beside}"
    if file.waiting:
        yield (
            f"newer libraries: {', '.join(file.waiting)} stands in a comment: {found.server} was "
            f"measured, and an older library of {file.title} may not have it"
        )
    if details:
        yield f"order: {file.order}"


def left_out_lines(grounds: Grounds, every: bool = False) -> Iterator[str]:
    """A line for each objection, the most frequent first; `every`: with all levels concerned."""
    by_objection: dict[str, list[str]] = {}
    for name, objection in grounds.left_out.items():
        by_objection.setdefault(objection, []).append(name)
    groups = sorted(by_objection.items(), key=lambda group: -len(group[1]))
    shown = groups if every else groups[:_OBJECTIONS]
    for objection, names in shown:
        yield f"left out, {len(names)}: {objection}: {joined(names) if every else few(names)}"
    if more := groups[len(shown) :]:
        names = [name for _, each in more for name in each]
        reasons = counted(len(more), "other reason")
        yield f"left out, {len(names)}: for {reasons}; --details has all of them"


def _policies(sources: Sequence[Source], day: date) -> Iterator[str]:
    """The applied policies, their dates and successors, and whether they are old."""
    if not sources:
        return
    named = ", ".join(f"{source.title} ({source.date})" for source in sources)
    yield f"policies as of {as_of(sources)}: {named}"
    yield from (f"successor: {words}" for words in successor_words(sources))
    if old := age_words(sources, day):
        yield f"warning: {old}"


def _place(found: RecommendedChoice) -> str:
    """The place of what has no valid measurement."""
    is_measured = found.trade_offs.decided and found.aim != "security"
    return "last in the order" if is_measured else "placed by the policies alone"


def _headline(found: RecommendedChoice) -> str:
    first, *rest = [found.names[key] for key in found.order]
    return f"{first}, then {', '.join(rest)}." if rest else f"{first}, and nothing else."


def _basis(found: RecommendedChoice, grounds: Grounds) -> str:
    software = f" ({grounds.software[:60]})" if grounds.software else ""
    where = f", {found.where}" if found.where else ""
    text = (
        f"measured on {found.server}{software}{where}, {counted(found.trade_offs.blocks, 'block')}"
    )
    more = grounds.others
    others = f"; {counted(more, 'other setting')} of the run not used" if more else ""
    return f"{text} with all candidates{others}."


def reason(found: RecommendedChoice) -> str:
    """The reason for the choice."""
    if found.aim == "security":
        return _by_security(found)
    trade_offs, name = found.trade_offs, found.name
    count = len(found.order)
    if count == 1:
        return f"{name} is the only one that no policy objects to."
    match trade_offs.verdict:
        case "settled":
            return _settled(found, name)
        case "equal":
            most = difference(trade_offs.may_differ or 0)
            return f"{_among(found)}, which differ by {most} at most; {_why_first(found)}."
        case "open":
            left = trade_offs.may_differ
            more = "" if left is None else f"; they may differ by up to {difference(left)}"
            return f"{_among(found)}{more}; {_why_first(found)}."
        case _:
            return f"{_undecided(found)} The order is that of the policies alone."


def _among(found: RecommendedChoice) -> str:
    """The candidates that may be the best one."""
    by = estimate_name(found.trade_offs.measure)
    among = few([found.names[key] for key in found.trade_offs.contenders])
    return f"The best by {by} is among {among} (probability 95 %)"


def _why_first(found: RecommendedChoice) -> str:
    """Why the choice comes first of those that may be the best: its security, or its probability.

    Equally safe ones are in the order of their probabilities.
    """
    security, first = found.security, found.order[0]
    equal = [key for key in found.trade_offs.contenders if security[key] == security[first]]
    best = "safest of them" if len(equal) < 2 else "likeliest best of the safest of them"
    return f"{found.name} is the {best}"


def _settled(found: RecommendedChoice, name: str) -> str:
    """The best one among the measured candidates."""
    trade_offs, count = found.trade_offs, len(found.order)
    by = estimate_name(trade_offs.measure)
    cell = trade_offs.cell(found.order[0])
    if cell is None:
        return f"{name} is the best by {by}."
    measured = count - len(trade_offs.unmeasured)
    if measured == 1:
        return f"{name} alone has a valid measurement, of {count} that no policy objects to."
    among = str(count) if measured == count else f"the {measured} measured, of {count}"
    value = cell.values[trade_offs.measure]
    best, rest = _superlative(found)
    return (
        f"{name} is the {best} of {among} that no policy objects to by {by}: "
        f"{figure(value.value)}{_UNITS.get(value.unit, '')}; probability "
        f"{probability_words(cell.best[trade_offs.measure])}{rest}."
    )


def _superlative(found: RecommendedChoice) -> tuple[str, str]:
    """`best` if it is established against each of the others; else what is not established."""
    trade_offs = found.trade_offs
    known = {cell.cell for cell in trade_offs.cells} - {found.order[0], *trade_offs.beaten}
    if not known:
        return "best", ""
    others = few([found.names[key] for key in found.order if key in known])
    return "likeliest best", f"; no difference from {others} is established (Holm, 5 %)"


def _undecided(found: RecommendedChoice) -> str:
    trade_offs = found.trade_offs
    by = estimate_name(trade_offs.measure)
    match trade_offs.verdict:
        case "too_few":
            return (
                "This run cannot tell which is best: "
                f"{counted(trade_offs.blocks, 'block')} with all candidates, and a probability "
                "takes 5."
            )
        case "cannot_tell":
            left = trade_offs.may_differ
            more = f": they may differ by up to {difference(left)}" if left is not None else ""
            return f"This run cannot tell which is best by {by}{more}."
        case _:
            return (
                "This run cannot tell which is best: nothing that the aim goes by was measured of "
                "all candidates."
            )


def _by_security(found: RecommendedChoice) -> str:
    text = f"{found.name} is the safest by the policies: graded {found.grade} at the worst"
    if found.hybrid:
        text += ", a hybrid with a post-quantum KEM"
    if found.recommended_by:
        text += f", recommended by {joined(found.recommended_by)}"
    security = found.security
    equal = [key for key in found.order if security[key] == security[found.order[0]]]
    if len(equal) == 1:
        return f"{text}."
    names = joined([found.names[key] for key in equal[1:]])
    if not found.trade_offs.decided:
        return f"{text}. As safe: {names}; {_undecided(found)[:1].lower()}{_undecided(found)[1:]}"
    by = estimate_name(found.trade_offs.measure)
    return f"{text}. As safe: {names}; between them decides {by}."


def _price_lines(found: RecommendedChoice) -> Iterator[str]:
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


def price_words(found: RecommendedChoice, price: Price) -> str:
    """One price as a sentence."""
    other, by = found.names[price.cell], estimate_name(price.measure)
    value = f"{found.name} has {_times(price)} times its value"
    if not price.established:
        value += f": {_open_words(price.comparison)}"
    match price.rival:
        case "fastest":
            what = "the best of all" if price.leads and price.established else _first(price.measure)
            return f"{what} by {by} is {other}, not recommended: {found.objection}; {value}."
        case "safest":
            return f"security: safer by the policies is {other}; by {by} {value}."
        case "fastest_allowed":
            return f"security: {_better(found, price)}; {value}."
        case _:
            return f"elsewhere: {_better(found, price)}; {value}."


def _first(measure: str) -> str:
    """The name for the first of all if it is not established to be the best."""
    return "the highest measured" if quantity(measure).more_is_better else "the lowest measured"


def _better(found: RecommendedChoice, price: Price) -> str:
    """A clause that the rival is better, or its probability to be the best."""
    other, by = found.names[price.cell], estimate_name(price.measure)
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
        fewest = number_word(LEAST_BLOCKS)
        return f"they cannot be told apart: fewer than {fewest} blocks establish no difference"
    if left >= _WITHOUT_END:
        return f"they cannot be told apart, and may differ by {difference(left)}"
    if found.verdict == "equivalent":
        return f"no difference is established, and more than {difference(left)} is excluded"
    return f"they cannot be told apart, and more than {difference(left)} is excluded"


def _times(price: Price) -> str:
    ratio, sign = price.ratio, "at most " if price.is_bound else ""
    if ratio.n < LEAST_BLOCKS:
        return f"{sign}{ratio_figure(ratio.value)}"
    return f"{sign}{with_interval(ratio, absent='')}"


def pareto_table(found: RecommendedChoice) -> DataTable | None:
    """The candidates in their order: each value with the probability that it is the best one.

    The last column is the probability that no other cell is as good in all dimensions and better in
    one.
    """
    trade_offs = found.trade_offs
    if not trade_offs.cells:
        return None
    names = tuple(
        dict.fromkeys(
            (*([trade_offs.measure] if trade_offs.measure else []), *trade_offs.dimensions)
        )
    )
    rows = []
    for key in found.order:
        cell = trade_offs.cell(key)
        if cell is None:
            continue
        values = (_cell(cell.values[name], cell.best.get(name)) for name in names)
        front = "-" if cell.on_front is None else probability_words(cell.on_front)
        rows.append((found.names[key], str(cell.security + 1), *values, front))
    return DataTable(
        id="pareto",
        title="Candidates, the preferred first",
        caption=(
            "Below each value: the probability that it is the best one. Pareto: the probability "
            "that no other is as good in everything and better in something."
        ),
        columns=("", "security rank", *(quantity(name).short for name in names), "Pareto"),
        rows=tuple(rows),
    )


def _cell(estimate: Estimate, best: float | None) -> str:
    return _value(estimate) if best is None else f"{_value(estimate)}\n{probability_words(best)}"


def _value(estimate: Estimate) -> str:
    if estimate.unit == "B" and estimate.value >= 1 << 20:
        return figure(estimate.value / (1 << 20))
    return figure(estimate.value)


def front(found: RecommendedChoice) -> tuple[str, ...]:
    """The names of the Pareto set: cells more likely in it than not."""
    return tuple(
        found.names[cell.cell]
        for cell in found.trade_offs.cells
        if cell.on_front is not None and cell.on_front >= LIKELY
    )


SENTENCES: Sentences = {
    "policies_object": _policies_object,
    "price": _price,
    "recommendation": _recommendation,
}
