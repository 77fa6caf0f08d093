"""A recommendation in words: its reason, its price, and what it does not say."""

from collections.abc import Iterator

from tlslab.advice.emit import Form, Offer
from tlslab.advice.policy import GRADES
from tlslab.advice.recommend import Price, Recommendation
from tlslab.advice.strength import is_pq_hybrid
from tlslab.model.estimate import Estimate
from tlslab.model.estimates import estimate_name
from tlslab.model.figure import DataTable
from tlslab.model.grading import successor_words
from tlslab.model.names import find_suite
from tlslab.model.wording import counted, difference, figure, joined, percent, ratio_figure

# A cell is called one of the Pareto set when that is likelier than not.
LIKELY = 0.5

_HEADS = {
    "server_cpu_us_per_connection": "server µs a connection",
    "keep_alive_server_cpu_us_per_request": "server µs a request",
    "service_ms_p99": "service ms p99",
    "service_ms_p95": "service ms p95",
    "service_ms_p50": "service ms p50",
    "wire_bytes_per_handshake": "bytes a handshake",
    "server_memory_bytes": "memory MiB",
    "connections_per_s": "new conn. /s",
    "keep_alive_requests_per_s": "requests /s",
}

_UNITS = {"us": " µs", "ms": " ms", "1/s": "/s", "B": " B"}


def short_name(name: str) -> str:
    """OpenSSL's name of a suite, a group's own."""
    suite = find_suite(name)
    return name if suite is None else suite.openssl


def probability(share: float) -> str:
    """A probability that was counted in draws: never 0 % nor 100 %."""
    if share > 0.99:
        return "over 99 %"
    return "under 1 %" if share < 0.01 else percent(share)


def comments(found: Recommendation, form: Form, offer: Offer) -> tuple[str, ...]:
    """The sentences at the head of the emitted file."""
    field = found.field
    left_out = {entry.name: entry for entry in field.objected}
    return tuple(
        filter(
            None,
            (
                f"tlslab recommend, aim {found.aim}: {_headline(found)}",
                f"{form.title}: {form.use}.",
                _basis(found),
                reason(found),
                *(f"left out: {short_name(n)}: {e.graded.objection}" for n, e in left_out.items()),
                offer.beside,
            ),
        )
    )


def explanation(found: Recommendation, form: Form, offer: Offer) -> Iterator[str]:
    """The lines for people; the table of the Pareto set belongs below them."""
    field = found.field
    yield f"recommended for {form.title}, aim {found.aim}: {_headline(found)}"
    yield f"why: {reason(found)}"
    for words in _prices(found):
        yield f"price: {words}"
    yield f"basis: {_basis(found)}"
    if field.policies:
        yield f"policies: {', '.join(f'{p.title} ({p.date})' for p in field.policies)}"
        where = successor_words(each.about for each in field.policies)
        yield from (f"successor: {words}" for words in where)
    for entry in {each.name: each for each in field.objected}.values():
        yield f"left out: {short_name(entry.name)}: {entry.graded.objection}"
    if lacking := [short_name(each.name) for each in field.lacking]:
        yield f"left out: {', '.join(lacking)}: {field.server} was not seen to do it in this run"
    if unmeasured := [short_name(field.entry(k).name) for k in found.trade_offs.unmeasured]:
        yield f"last in the order: {', '.join(unmeasured)}: no valid measurement in this run"
    if offer.beside:
        yield f"beside it: {offer.beside}"
    if offer.waiting:
        names = ", ".join(group.name for group in offer.waiting)
        yield (
            f"newer libraries: {names} stands in a comment: {field.server} was measured, and an "
            f"older library of {form.title} may not have it"
        )
    yield f"order: {form.order}"


def _headline(found: Recommendation) -> str:
    first, *rest = [short_name(name) for name in found.names]
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
    by = estimate_name(trade_offs.measure)
    contenders = [_name(found, key) for key in trade_offs.contenders]
    match trade_offs.verdict:
        case "settled":
            return _settled(found, name)
        case "equal":
            return (
                f"{joined(contenders)} may be the best by {by} (95 %), and differ by "
                f"{difference(trade_offs.may_differ or 0)} at most; {name} is the safest of them."
            )
        case "open":
            return (
                f"{joined(contenders)} may be the best by {by} (95 %), the others are not; {name} "
                "is the safest of them."
            )
        case _:
            return f"{_undecided(found)} The order is that of the policies alone."


def _settled(found: Recommendation, name: str) -> str:
    """The best one, among those that were measured."""
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
    return (
        f"{name} is the best of {among} that no policy objects to by {by}: "
        f"{figure(value.value)}{_UNITS.get(value.unit, '')}; probability "
        f"{probability(cell.best[trade_offs.measure])}."
    )


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
    text = f"{short_name(graded.name)} is the safest by the policies: graded {worst} at the worst"
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


def _prices(found: Recommendation) -> Iterator[str]:
    measure = found.trade_offs.measure
    if measure and all(each.measure != measure for each in found.prices):
        by = estimate_name(measure)
        yield f"none by {by}: nothing that was measured is established to be better."
    for each in found.prices:
        yield _price(found, each)


def _price(found: Recommendation, price: Price) -> str:
    """The choice's ratio to a rival, in words."""
    rival = found.field.entry(price.cell)
    name, other = _name(found, found.order[0]), short_name(rival.name)
    by = estimate_name(price.measure)
    times = f"{_ratio(price.ratio)} times"
    match price.rival:
        case "fastest":
            return (
                f"the best of all by {by} is {other}, not recommended: {rival.graded.objection}; "
                f"{name} has {times} its value."
            )
        case "fastest_allowed":
            return f"security: {name} has {times} the value of {other}, the likeliest best by {by}."
        case "safest":
            return f"safer by the policies is {other}; {name} has {times} its value by {by}."
        case _:
            return f"elsewhere: by {by} {other} is better; {name} has {times} its value."


def _ratio(ratio: Estimate) -> str:
    if ratio.low is None or ratio.high is None:
        return ratio_figure(ratio.value)
    low, high = ratio_figure(ratio.low), ratio_figure(ratio.high)
    return f"{ratio_figure(ratio.value)} (95 %: {low} to {high})"


def pareto_table(found: Recommendation) -> DataTable | None:
    """The candidates in their order: each value with the probability that it is the best one.

    The last column is the probability that no other cell is as good in all and better in one.
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
        front = "-" if cell.on_front is None else probability(cell.on_front)
        rows.append((_name(found, key), str(cell.security + 1), *values, front))
    return DataTable(
        id="pareto",
        title="Candidates, the preferred first",
        caption=(
            "Below each value: the probability that it is the best one. Pareto: the probability "
            "that no other is as good in everything and better in something."
        ),
        columns=("", "safety rank", *(_HEADS[name] for name in names), "Pareto"),
        rows=tuple(rows),
    )


def _cell(estimate: Estimate, best: float | None) -> str:
    return _value(estimate) if best is None else f"{_value(estimate)}\n{probability(best)}"


def _value(estimate: Estimate) -> str:
    if estimate.unit == "B" and estimate.value >= 1 << 20:
        return figure(estimate.value / (1 << 20))
    return figure(estimate.value)


def front(found: Recommendation) -> tuple[str, ...]:
    """The names of the Pareto set, those that are likelier in it than not."""
    return tuple(
        short_name(found.field.entry(cell.cell).name)
        for cell in found.trade_offs.cells
        if cell.on_front is not None and cell.on_front >= LIKELY
    )


def _name(found: Recommendation, key: str) -> str:
    return short_name(found.field.entry(key).name)
