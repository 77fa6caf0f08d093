"""The findings of a capacity experiment: sentences, each with its intervals.

Results of fewer than FEWEST repetitions get no sentence; they are in the tables. The load that a
search found within the objective has no interval, and gets one.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.known import (
    chosen_words,
    has_maximum,
    is_open,
    maximum_words,
    open_label,
    over,
    times_words,
    unsteady,
    why_open,
)
from tlslab.analysis.capacity.naming import cell_names
from tlslab.analysis.capacity.pairs import scaling_pairs, server_pairs, variant_pairs
from tlslab.analysis.capacity.points import judged
from tlslab.analysis.capacity.ratios import Ratios
from tlslab.analysis.capacity.remedies import Remedy, remedies
from tlslab.analysis.capacity.share import of_maximum
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.stats.estimate import spread_of_ratio
from tlslab.analysis.stats.families import LEVEL, holm
from tlslab.domain.capacity import CapacityPlan
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import RESPONSE, at_load, statistic
from tlslab.domain.finding import Finding
from tlslab.domain.search import Inconclusive
from tlslab.domain.validation import RateResult, results_words
from tlslab.domain.wording import counted, every, joined, percent, ratio_figure, with_interval

Named = Sequence[tuple[str, CapacityCell]]


def findings(
    cells: Sequence[CapacityCell], plan: CapacityPlan, baseline: Mapping[str, str]
) -> tuple[Finding, ...]:
    """The answer first, then ratios, latency, objective, remedies, validation, reason.

    `baseline`: the levels with which others are compared.
    """
    named = list(zip(cell_names([cell.factors for cell in cells]), cells, strict=True))
    first_and_other = (
        *scaling_pairs(cells),
        *server_pairs(cells),
        *variant_pairs(cells, baseline),
    )
    ratios = Ratios.of((other, first) for first, other in first_and_other)
    return (
        *_maxima(named),
        *_open(named),
        *_generators(named),
        *_scaling(cells, ratios),
        *_servers(named, ratios),
        *_variants(named, baseline, ratios),
        *_latency(named),
        *_objective(named, plan),
        *_remedies(named),
        *_validation(named),
        *_inconclusive(named),
    )


def _enough(found: Estimate | None) -> bool:
    """Whether there is an estimate with enough repetitions for a sentence."""
    return found is not None and found.n >= FEWEST


def _maxima(named: Named) -> Iterator[Finding]:
    able = [(name, cell) for name, cell in named if has_maximum(cell) and _enough(cell.maximum)]
    if not able:
        return
    parts = []
    for name, cell in able:
        part = f"{name}: {maximum_words(cell)}, with {cell.connections} at once"
        label = open_label(cell)
        parts.append(f"{part} ({label})" if label else part)
    text = f"New connections/s at most: {'; '.join(parts)}."
    yield Finding("answer", text, tuple(cell.key for _, cell in able))


def _open(named: Named) -> Iterator[Finding]:
    """The cells whose maximum is not known, each with the reasons."""
    found = [(name, cell) for name, cell in named if has_maximum(cell) and is_open(cell)]
    if found:
        listed = "; ".join(f"{name} ({why_open(cell)})" for name, cell in found)
        text = f"Maxima that are not known exactly, and why: {listed}."
        yield Finding("open", text, tuple(cell.key for _, cell in found))


def _generators(named: Named) -> Iterator[Finding]:
    """The number of generators that made the load of the maximum, and the limiting side."""
    for name, cell in named:
        used = [len(trial.runs["maximum"].record.hosts) for trial in cell.of("maximum")]
        if not any(used) or not has_maximum(cell):
            continue
        text = (
            f"{name}: {counted(max(used), 'generator')} made the load of the maximum; {cell.limit}."
        )
        yield Finding("generators", text, (cell.key,))


def _scaling(cells: Sequence[CapacityCell], ratios: Ratios) -> Iterator[Finding]:
    for fewer, more in scaling_pairs(cells):
        comparison = over(more, fewer)
        if comparison is None or comparison.n < FEWEST:
            continue
        n, m = fewer.factors["processors"], more.factors["processors"]
        server = more.factors.get("server", "The server")
        if times := times_words(comparison, more, fewer):
            text = f"{server} takes {times} times the connections/s with {m} processors that it "
            text += f"takes with {n}{chosen_words(more, fewer)}"
            text += f"{ratios.verdict_words(more, fewer)}."
        else:
            name = more.factors.get("server", "the server")
            text = f"How much more {name} takes with {m} processors than with {n} is not known: "
            either = "it may take more than was measured with either"
            text += f"{'a rate was not steady' if unsteady(more, fewer) else either}."
        if more.shared:
            text += (
                " The generator shared one of these processors: the server alone would take more."
            )
        yield Finding("scaling", text, (fewer.key, more.key))


def _servers(named: Named, ratios: Ratios) -> Iterator[Finding]:
    for first, other in server_pairs([cell for _, cell in named]):
        names = cell_names([other.factors, first.factors])
        levels = other.factors.get("processors")
        where = f" on {levels} processor{'' if levels == '1' else 's'}" if levels else ""
        sides = (names[0], other), (names[1], first)
        yield from _ratio("platforms", *sides, ratios, where)


def _variants(named: Named, baseline: Mapping[str, str], ratios: Ratios) -> Iterator[Finding]:
    names = {cell.key: name for name, cell in named}
    for first, other in variant_pairs([cell for _, cell in named], baseline):
        sides = (names[other.key], other), (names[first.key], first)
        yield from _ratio("variants", *sides, ratios)


def _ratio(
    code: str,
    more: tuple[str, CapacityCell],
    less: tuple[str, CapacityCell],
    ratios: Ratios,
    where: str = "",
) -> Iterator[Finding]:
    """One cell's maximum over another's, with their names; `where` holds for both."""
    (name, other), (first_name, first) = more, less
    comparison = over(other, first)
    if comparison is None or comparison.n < FEWEST:
        return
    if times := times_words(comparison, other, first):
        text = f"{name} takes {times} times the connections/s of {first_name}{where}"
        text += f"{chosen_words(other, first)}{ratios.verdict_words(other, first)}."
    else:
        text = f"Whether {name} takes more connections/s than {first_name}{where} is not "
        both = "both may take more than was measured"
        text += f"known: {'a rate was not steady' if unsteady(other, first) else both}."
    yield Finding(code, text, (first.key, other.key))


def _latency(named: Named) -> Iterator[Finding]:
    """Mean response times at the lowest and the highest load, judged together (Holm)."""
    said = [(name, cell, ends) for name, cell in named if (ends := _ends(cell)) is not None]
    adjusted = holm([_p_value(*means) for _, _, (_, means) in said])
    for (name, cell, (loads, means)), p in zip(said, adjusted, strict=True):
        (low, high), (first, last) = loads, means
        of = "the highest rate that was measured" if is_open(cell) else "the maximum"
        text = (
            f"{name}: the mean response time is {with_interval(first)} ms at {percent(low)} of "
            f"{of} and {with_interval(last)} ms at {percent(high)}{longer(first, last, p)}."
        )
        overloaded = sorted(
            {point.fraction for point in judged(cell.points) if point.verdict == "overloaded"}
        )
        if overloaded:
            where = joined([percent(each) for each in overloaded])
            text += f" At {where} the server did not keep up in at least one run."
        yield Finding("latency", text, (cell.key,))


def _ends(cell: CapacityCell) -> tuple[tuple[float, float], tuple[Estimate, Estimate]] | None:
    """The lowest and the highest load and the mean response times there.

    None with too little data.
    """
    loads = {p.fraction for p in judged(cell.points) if p.response.n}
    if len(loads) < 2 or not has_maximum(cell):
        return None
    low, high = min(loads), max(loads)
    first, last = _mean(cell, low), _mean(cell, high)
    return ((low, high), (first, last)) if _enough(first) and _enough(last) else None


def _mean(cell: CapacityCell, fraction: float) -> Estimate:
    return cell.summary.estimates[at_load(statistic(RESPONSE, "mean"), fraction)]


def _p_value(first: Estimate, last: Estimate) -> float:
    """The p-value of the difference of two means (Welch, on logarithms).

    1 if one has no interval.
    """
    spread = spread_of_ratio(first, last)
    return 1.0 if spread is None else spread.p_value(math.log(last.value / first.value))


def longer(first: Estimate, last: Estimate, p: float) -> str:
    """Whether the second of two means is longer, in words; empty if either has no interval.

    `p` is the p-value of their difference, adjusted for all pairs in the report.
    """
    if first.high is None or last.low is None:
        return ""
    if last.low > first.high and p <= LEVEL:
        return ": it is longer there"
    return ": whether it is longer, these runs cannot tell"


def _objective(named: Named, plan: CapacityPlan) -> Iterator[Finding]:
    for name, cell in named:
        found = cell.capacity
        if plan.objective is None or not cell.loads or (found and not cell.has_answer):
            continue
        if found is None:
            text = (
                f"{name}: whether it meets {plan.objective} is not known: each run was too short, "
                "or had too few connections, or the generator was late at that load or a lower "
                "one; measure for longer."
            )
            yield Finding("objective", text, (cell.key,))
            continue
        share = of_maximum(cell) if _enough(cell.maximum) else ""
        text = f"{name} meets {plan.objective} {found.words}{share}."
        yield Finding("objective", text, (cell.key,))


def _remedies(named: Named) -> Iterator[Finding]:
    """The gains from the remedies, judged together (Holm)."""
    said = [
        (name, cell, [each for each in remedies(cell) if _enough(each.ratio)])
        for name, cell in named
    ]
    known = [each for _, _, found in said for each in found if each.of_ratio != "unknown"]
    tested = [1.0 if each.p is None else each.p for each in known]
    differs = {id(each): p <= LEVEL for each, p in zip(known, holm(tested), strict=True)}
    for name, cell, found in said:
        reported = [_remedy(each, differs.get(id(each), False), len(tested)) for each in found]
        if reported:
            text = f"{name}, requests/s with a remedy: {'; '.join(reported)}."
            yield Finding("remedies", text, (cell.key,))


def _remedy(remedy: Remedy, differs: bool, family: int) -> str:
    """The ratio, and a clause if no difference is established among the `family` ratios."""
    assert remedy.ratio is not None
    ratio = remedy.ratio
    interval = ""
    if ratio.low is not None and ratio.high is not None:
        interval = f" (95 %: {ratio_figure(ratio.low)} to {ratio_figure(ratio.high)})"
    if remedy.of_ratio == "unknown":
        return f"{remedy.name}: not known, the generator was the limit with and without"
    bound = f"{remedy.of_ratio} " if remedy.of_ratio else ""
    alone = ratio.low is not None and ratio.high is not None and not ratio.low <= 1 <= ratio.high
    # The true ratio may be above a lower bound below 1, and below an upper bound above 1.
    open_ = {"at least": ratio.value < 1, "at most": ratio.value > 1}.get(remedy.of_ratio, False)
    among = f" among {every(family)} remedies" if family > 1 else ""
    verdict = "" if differs and alone and not open_ else f", no difference is established{among}"
    return (
        f"{remedy.name} {bound}{ratio_figure(ratio.value)}{interval} times {remedy.base}{verdict}"
    )


def _validation(named: Named) -> Iterator[Finding]:
    found: list[RateResult] = []
    keys = []
    for _, cell in named:
        for trial in cell.trials:
            if trial.validation is not None:
                keys.append(cell.key)
                found.append(trial.validation)
    if found:
        text = (
            "Beside a packet capture of the same connections: of the generator's own quantiles, "
            f"{results_words(found)}."
        )
        yield Finding("validation", text, tuple(dict.fromkeys(keys)))
        return
    reasons = [
        trial.reason.message
        for _, cell in named
        for trial in cell.trials
        if trial.factors.get("stage") == "validation" and trial.reason is not None
    ]
    if reasons:
        text = f"The times were not validated against a packet capture: {reasons[0]}"
        yield Finding("validation", text)


def _inconclusive(named: Named) -> Iterator[Finding]:
    for name, cell in named:
        if isinstance(cell.search, Inconclusive):
            reason = cell.search.reason.replace("_", " ")
            text = f"{name}: the search was inconclusive ({reason}): {cell.search.message}."
            yield Finding("inconclusive", text, (cell.key,))
