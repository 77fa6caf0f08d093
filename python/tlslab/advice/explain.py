"""A recommendation in words: its reason, its price, and its limits."""

from collections.abc import Iterator
from datetime import date

from tlslab.advice.choice import Field, Recommendation
from tlslab.advice.emit import Form, Offer
from tlslab.advice.policy import GRADES
from tlslab.advice.price import price_lines, price_words
from tlslab.advice.setting_grade import is_pq_hybrid
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import estimate_name, quantity
from tlslab.domain.figure import DataTable
from tlslab.domain.grading import age_words, as_of, successor_words
from tlslab.domain.trade_off import probability_words
from tlslab.domain.wording import capital, counted, difference, few, figure, joined

# A cell counts as one of the Pareto set if its probability of being in it exceeds this.
LIKELY = 0.5

# The largest number of objections in a brief list.
_OBJECTIONS = 8

_UNITS = {"us": " µs", "ms": " ms", "1/s": "/s", "B": " B"}


def comments(found: Recommendation, form: Form, offer: Offer) -> tuple[str, ...]:
    """The sentences at the head of a file: the order, why it is this one, what it costs."""
    by = found.trade_offs.measure
    return (
        f"tlslab recommend, aim {found.aim}: {_headline(found)}",
        f"{form.title}: {form.use}.",
        _basis(found),
        reason(found),
        *(f"price: {price_words(found, each)}" for each in found.prices if each.measure == by),
        *left_out_lines(found.field, every=True),
        *((f"Also in this file: {offer.beside}",) if offer.beside else ()),
    )


def quoted(found: Recommendation) -> str:
    """The recommendation for a report, in sentences."""
    field = found.field
    where = f" ({field.where})" if field.where else ""
    text = f"{found.chosen.short} is recommended on {field.server}{where}, aim {found.aim}."
    text = f"{text} {reason(found)}"
    if unmeasured := [_name(found, key) for key in found.trade_offs.unmeasured]:
        text += f" No valid measurement, and {_place(found)}: {few(unmeasured)}."
    return text


def fastest_words(found: Recommendation) -> str:
    """The price against the best of all, if a policy objects to that one; else empty."""
    faster = next((price for price in found.prices if price.rival == "fastest"), None)
    return "" if faster is None else capital(price_words(found, faster))


def pointed_out(found: Recommendation) -> str:
    """The choice in one sentence, for an answer that names other leaders first."""
    by = estimate_name(found.trade_offs.measure)
    why = f"by {by}" if found.trade_offs.decided else "by the policies alone"
    return f"Recommended on {found.field.server}, {why}: {found.chosen.short}."


def explanation(
    found: Recommendation, form: Form, offer: Offer, day: date, details: bool = False
) -> Iterator[str]:
    """The lines for people; the table of the Pareto set belongs below them.

    `day`: the day by which policies may be old. `details`: all names, however many, what the file's
    comments say, too, and what the order of the file means to the server.
    """
    field = found.field
    yield f"recommended for {form.title}, aim {found.aim}: {_headline(found)}"
    yield f"why: {reason(found)}"
    yield from price_lines(found)
    if details:
        yield f"basis: {_basis(found)}"
    yield from _policies(field, day)
    yield from left_out_lines(field, details)
    if lacking := [each.short for each in field.lacking]:
        names = joined(lacking) if details else few(lacking)
        yield f"left out, {len(lacking)}: {field.server} was not seen to do it in this run: {names}"
    if unmeasured := [_name(found, key) for key in found.trade_offs.unmeasured]:
        names = joined(unmeasured) if details else few(unmeasured)
        yield f"{_place(found)}: {names}: no valid measurement in this run"
    if offer.beside and details:
        yield f"also in the file: {offer.beside}"
    if offer.waiting:
        names = ", ".join(group.name for group in offer.waiting)
        yield (
            f"newer libraries: {names} stands in a comment: {field.server} was measured, and an "
            f"older library of {form.title} may not have it"
        )
    if details:
        yield f"order: {form.order}"


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


def _policies(field: Field, day: date) -> Iterator[str]:
    """The applied policies, their dates and successors, and whether they are old."""
    sources = [policy.about for policy in field.policies]
    if not sources:
        return
    named = ", ".join(f"{source.title} ({source.date})" for source in sources)
    yield f"policies as of {as_of(sources)}: {named}"
    yield from (f"successor: {words}" for words in successor_words(sources))
    if old := age_words(sources, day):
        yield f"warning: {old}"


def _place(found: Recommendation) -> str:
    """The place of what has no valid measurement."""
    is_measured = found.trade_offs.decided and found.aim != "security"
    return "last in the order" if is_measured else "placed by the policies alone"


def _headline(found: Recommendation) -> str:
    first, *rest = [_name(found, key) for key in found.order]
    return f"{first}, then {', '.join(rest)}." if rest else f"{first}, and nothing else."


def _basis(found: Recommendation) -> str:
    field = found.field
    software = f" ({field.software[:60]})" if field.software else ""
    where = f", {field.where}" if field.where else ""
    text = (
        f"measured on {field.server}{software}{where}, {counted(found.trade_offs.blocks, 'block')}"
    )
    others = (
        f"; {counted(field.others, 'other setting')} of the run not used" if field.others else ""
    )
    return f"{text} with all candidates{others}."


def reason(found: Recommendation) -> str:
    """The reason for the choice."""
    if found.aim == "security":
        return _by_security(found)
    trade_offs, name = found.trade_offs, _name(found, found.order[0])
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


def _among(found: Recommendation) -> str:
    """The candidates that may be the best one."""
    by = estimate_name(found.trade_offs.measure)
    among = few([_name(found, key) for key in found.trade_offs.contenders])
    return f"The best by {by} is among {among} (probability 95 %)"


def _why_first(found: Recommendation) -> str:
    """Why the choice comes first of those that may be the best: its security, or its probability.

    Equally safe ones are in the order of their probabilities.
    """
    security, first = found.field.security, found.order[0]
    equal = [key for key in found.trade_offs.contenders if security[key] == security[first]]
    best = "safest of them" if len(equal) < 2 else "likeliest best of the safest of them"
    return f"{_name(found, first)} is the {best}"


def _settled(found: Recommendation, name: str) -> str:
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


def _superlative(found: Recommendation) -> tuple[str, str]:
    """`best` if it is established against each of the others; else what is not established."""
    trade_offs = found.trade_offs
    known = {cell.cell for cell in trade_offs.cells} - {found.order[0], *trade_offs.beaten}
    if not known:
        return "best", ""
    others = few([_name(found, key) for key in found.order if key in known])
    return "likeliest best", f"; no difference from {others} is established (Holm, 5 %)"


def _undecided(found: Recommendation) -> str:
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


def _by_security(found: Recommendation) -> str:
    graded = found.chosen.graded
    recommending = [o.policy.title for o in graded.opinions if o.grade == "recommended"]
    worst = graded.grade or GRADES[-1]
    text = f"{found.chosen.short} is the safest by the policies: graded {worst} at the worst"
    if is_pq_hybrid(graded.name):
        text += ", a hybrid with a post-quantum KEM"
    if recommending:
        text += f", recommended by {joined(recommending)}"
    security = found.field.security
    equal = [key for key in found.order if security[key] == security[found.order[0]]]
    if len(equal) == 1:
        return f"{text}."
    names = joined([_name(found, key) for key in equal[1:]])
    if not found.trade_offs.decided:
        return f"{text}. As safe: {names}; {_undecided(found)[:1].lower()}{_undecided(found)[1:]}"
    by = estimate_name(found.trade_offs.measure)
    return f"{text}. As safe: {names}; between them decides {by}."


def pareto_table(found: Recommendation) -> DataTable | None:
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
        rows.append((_name(found, key), str(cell.security + 1), *values, front))
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


def front(found: Recommendation) -> tuple[str, ...]:
    """The names of the Pareto set: cells more likely in it than not."""
    return tuple(
        _name(found, cell.cell)
        for cell in found.trade_offs.cells
        if cell.on_front is not None and cell.on_front >= LIKELY
    )


def _name(found: Recommendation, key: str) -> str:
    return found.field.entry(key).short
