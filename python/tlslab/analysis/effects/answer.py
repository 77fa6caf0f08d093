"""The answer of a run of the kind `effects`: each factor's effect, and the cheapest combination."""

from collections.abc import Mapping, Sequence
from typing import Any

from tlslab.analysis.effects.ratios import Change, Effect, Measured, at_levels
from tlslab.analysis.enough import FEWEST, again, minutes, too_few
from tlslab.analysis.stats.estimate import estimate
from tlslab.domain.effects import Measure
from tlslab.domain.estimates import quantity
from tlslab.domain.finding import Answer, Lacking, Note, Statement
from tlslab.domain.run import RunContents

Varied = Mapping[str, Sequence[str]]


def answer(
    contents: RunContents,
    varied: Varied,
    measured: Sequence[Measured],
    found: Sequence[Effect],
    missing: Mapping[Measure, Note | None],
    trips: Mapping[str, float],
) -> Answer:
    """One statement for each measure, then the cheapest combination.

    `missing`: the measures without any value, with a reason. `trips`: the round trips of each TLS
    version, if they differ.
    """
    question = contents.experiment.title
    n = min((len(each.logs) for each in found), default=0)
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
    open_ = [each for each in found if len(each.changes) == 1 and not each.settled]
    if not open_:
        return None
    return Lacking(
        code="effects_open",
        values={"open": len(open_)},
        command=again(contents, "--blocks", str(4 * n)),
        minutes=minutes(contents, 4.0),
    )


def _effects_of(
    varied: Varied, measured: Measured, found: Sequence[Effect]
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
                "alike": [_other(o, change) for o in others if o.equal and not o.established],
                "at": [
                    {**at.at, "ratio": at.ratio}
                    for name in dict.fromkeys(_other(o, change) for o in others if o.established)
                    for at in at_levels(varied, measured, change, name)
                ],
            }
        )
    return stated


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


def _cheapest(varied: Varied, measured: Sequence[Measured]) -> Statement | None:
    """The combination with the best value of the mix, or else of new connections."""
    chosen = next((m for name in ("mix", "new") for m in measured if m.measure == name), None)
    if chosen is None:
        return None
    row = quantity(chosen.estimate)
    found = {
        levels: estimate(list(values.values()), row.unit)
        for levels, values in chosen.values.items()
        if values
    }
    pick = max if row.more_is_better else min
    best = pick(found, key=lambda levels: found[levels].value)
    values = {
        "levels": {name: dict(best)[name] for name in varied},
        "measure": chosen.measure,
        "estimate": chosen.estimate,
        "value": found[best],
    }
    return Statement("best_combination", values)
