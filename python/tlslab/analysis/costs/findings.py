"""The findings of a calibration: sentences, each with its intervals."""

import math
from collections.abc import Sequence

from tlslab.analysis.costs.model import Check, CostModel
from tlslab.analysis.costs.parts import FULL, KILOBYTE, REQUEST, RESUMED
from tlslab.model.finding import Finding
from tlslab.model.wording import joined, percent, with_interval

# A model with a larger error on a mix that is not in its fit is not fit to plan with.
GOOD_ERROR = 0.10


def findings(model: CostModel | None, checks: Sequence[Check], server: str) -> tuple[Finding, ...]:
    """What the parts cost, how far they can be added up, and what to do with it."""
    if model is None:
        text = "No block has a cost of every cell: there is no cost model."
        return (Finding("no_cost_model", text),)
    found = [_parts(model, server)]
    if checks:
        found.append(_error(checks))
    else:
        text = (
            "No mix that was held out of the fit has a result: how far the model is off is not "
            "known."
        )
        found.append(Finding("model_unchecked", text))
    return tuple(found)


def _parts(model: CostModel, server: str) -> Finding:
    named = [
        (name, words)
        for name, words in (
            (FULL, "a full handshake"),
            (RESUMED, "a resumed one"),
            (REQUEST, "a request"),
            (KILOBYTE, "1,000 bytes sent"),
        )
        if name in model.parts
    ]
    costs = [f"{words} costs {with_interval(model.part(name))} µs" for name, words in named]
    text = f"On {server} {joined(costs)} of the server's processor time."
    return Finding("cost_of_parts", text)


def _error(checks: Sequence[Check]) -> Finding:
    """The largest error on a held-out mix, with the end of its interval that is further off."""
    worst = max(checks, key=lambda check: check.error)
    if worst.error == math.inf:
        text = (
            f"By the fit a mix that cost {with_interval(worst.measured)} µs costs "
            f"{with_interval(worst.predicted)} µs, by which nothing can be planned: "
            "run more blocks."
        )
        return Finding("model_error", text)
    bound = None if worst.ratio.low is None else worst.bound
    off = f"by {percent(worst.error)}"
    if bound is not None:
        off += f" (95 %: up to {percent(bound)})"
    mixes = "the one mix" if len(checks) == 1 else f"{len(checks)} mixes"
    most = "" if len(checks) == 1 else "at most "
    text = f"On {mixes} held out of the fit the model is off {most}{off}."
    if bound is None:
        text = text[:-1] + "; one block gives no interval."
    elif bound <= GOOD_ERROR:
        text = text[:-1] + "; plan with it (tlslab plan)."
    else:
        text = text[:-1] + f"; {percent(GOOD_ERROR)} is not excluded: run more blocks first."
    return Finding("model_error", text)
