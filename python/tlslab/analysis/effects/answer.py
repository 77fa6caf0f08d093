"""The answer of a run of the kind `effects`: each factor's effect, and the cheapest combination."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tlslab.analysis.compare import paired_logs
from tlslab.analysis.effects.ratios import Change, Effect, MeasureValues, at_levels
from tlslab.analysis.enough import FEWEST, MOST, again, excluding_blocks, minutes, too_few
from tlslab.analysis.stats.estimate import estimate, p_value
from tlslab.analysis.stats.families import LEVEL, holm
from tlslab.domain.effects import Measure
from tlslab.domain.enough import EQUIVALENCE
from tlslab.domain.estimates import quantity
from tlslab.domain.finding import Answer, Lacking, Note, Statement
from tlslab.domain.names import NO_TLS
from tlslab.domain.run import RunContents

Varied = Mapping[str, Sequence[str]]


def answer(
    contents: RunContents,
    varied: Varied,
    measured: Sequence[MeasureValues],
    found: Sequence[Effect],
    missing: Mapping[Measure, Note | None],
    trips: Mapping[str, float],
) -> Answer:
    """One statement for each measure, then the cheapest combination.

    `missing`: the measures without any effect, with a reason. `trips`: the round trips of each TLS
    version, if they differ.
    """
    question = contents.experiment.title
    n = max((len(each.logs) for each in found), default=0)
    if not found:
        return Answer(question, lacking=Lacking(code="nothing_compared"))
    certainty = Statement("effects_certainty", {"n": n, "family": len(found)})
    if n < FEWEST:
        return Answer(question, lacking=too_few(contents, n), certainty=certainty)
    statements = [
        Statement(
            "effects",
            {
                "measure": each.measure,
                "estimate": each.estimate,
                "effects": _effects_of(varied, each, found),
            },
        )
        for each in sorted(measured, key=lambda each: each.measure != "mix")
        if each.measure not in missing
    ]
    statements += [
        Statement("measure_missing", {"measure": measure, "why": why})
        for measure, why in missing.items()
    ]
    if trips:
        statements.append(Statement("round_trips", {"of": dict(trips)}))
    if (best := _cheapest(varied, measured)) is not None:
        statements.append(best)
    return Answer(
        question,
        statements=tuple(statements),
        certainty=certainty,
        lacking=_lacking(contents, found, n),
        figure="effects",
    )


def _lacking(contents: RunContents, found: Sequence[Effect], n: int) -> Lacking | None:
    """What would settle the effects that are open; None if none is."""
    depends = {
        (each.measure, change)
        for each in found
        if len(each.changes) > 1 and each.established
        for change in each.changes
    }
    open_ = [
        each
        for each in found
        if len(each.changes) == 1
        and not each.settled
        and (each.measure, each.changes[0]) not in depends
    ]
    if not open_:
        return None
    noise = [float(np.std(each.logs, ddof=1)) for each in open_ if len(each.logs) > 1]
    blocks = min(MOST, max(n + FEWEST, excluding_blocks(max(noise, default=0.0), EQUIVALENCE)))
    return Lacking(
        code="effects_open",
        values={"open": len(open_)},
        command=again(contents, "--blocks", str(blocks)),
        minutes=minutes(contents, blocks / n),
    )


def _effects_of(
    varied: Varied, measured: MeasureValues, found: Sequence[Effect]
) -> list[dict[str, Any]]:
    """Each factor's effects, with those at the levels of a factor that changes it."""
    of_it = [each for each in found if each.measure == measured.measure]
    stated = []
    for each in of_it:
        if len(each.changes) > 1:
            continue
        (change,) = each.changes
        others = [other for other in of_it if len(other.changes) > 1 and change in other.changes]
        stated.append(
            {
                **_stated(change, each),
                "alike": _alike(others, change),
                "at": [
                    {**at.at, "ratio": at.ratio}
                    for name in dict.fromkeys(_other(o, change) for o in others if o.established)
                    for at in at_levels(varied, measured, change, name)
                ],
            }
        )
    return stated


def _alike(interactions: Sequence[Effect], change: Change) -> list[str]:
    """The factors none of whose levels changes the effect by as much as matters."""
    by_factor: dict[str, list[Effect]] = {}
    for each in interactions:
        by_factor.setdefault(_other(each, change), []).append(each)
    return [
        name
        for name, found in by_factor.items()
        if all(each.equal and not each.established for each in found)
    ]


def _stated(change: Change, found: Effect) -> dict[str, Any]:
    return {
        "factor": change.factor,
        "level": change.level,
        "against": change.against,
        "ratio": found.ratio,
        "established": found.established,
        "may_differ": found.may_differ,
    }


def _other(interaction: Effect, change: Change) -> str:
    """The factor of the other change of an interaction."""
    return next(each.factor for each in interaction.changes if each != change)


def _cheapest(varied: Varied, measured: Sequence[MeasureValues]) -> Statement | None:
    """The combination with the best value of the mix, or else of new connections.

    With those that are not told apart from it (ratios paired by block, Holm). One without TLS is a
    baseline and no advice; None if no two are left.
    """
    chosen = next((m for name in ("mix", "new") for m in measured if m.measure == name), None)
    if chosen is None:
        return None
    row = quantity(chosen.estimate)
    known = {
        levels: values
        for levels, values in chosen.values.items()
        if values and ("tls", NO_TLS) not in levels
    }
    found = {levels: estimate(list(known[levels].values()), row.unit) for levels in known}
    if len(found) < 2:
        return None
    pick = max if row.more_is_better else min
    best = pick(found, key=lambda levels: found[levels].value)
    others = [levels for levels in known if levels != best]
    logs = [paired_logs(known[levels], known[best]) for levels in others]
    tested = holm([1.0 if (p := p_value(each)) is None else p for each in logs])
    values = {
        "levels": _ordered(varied, best),
        "with_tls": NO_TLS in varied.get("tls", ()),
        "measure": chosen.measure,
        "estimate": chosen.estimate,
        "value": found[best],
        "not_apart": [
            _ordered(varied, levels)
            for levels, each, p in zip(others, logs, tested, strict=True)
            if p > LEVEL or len(each) < FEWEST
        ],
    }
    return Statement("best_combination", values)


def _ordered(varied: Varied, levels: frozenset[tuple[str, str]]) -> dict[str, str]:
    return {name: dict(levels)[name] for name in varied}
