"""The findings of a calibration: sentences, each with its intervals."""

import math
from collections.abc import Sequence

from tlslab.analysis.costs.cost_parts import FULL, KILOBYTE, REQUEST, RESUMED
from tlslab.analysis.costs.cost_words import uncertain_words
from tlslab.analysis.costs.model import Check, CostModel
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Finding
from tlslab.domain.wording import capital, difference, joined, percent, with_interval

# A model with a larger error on a mix outside its fit is not fit for planning.
GOOD_ERROR = 0.10


def findings(
    model: CostModel | None, checks: Sequence[Check], server: str, implausible: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """The costs of the parts, the error of their sum, and the next step.

    `implausible`: the reasons that a cost of bytes cannot be right.
    """
    if model is None:
        text = "No block has a cost of every cell: there is no cost model."
        return (Finding("no_cost_model", text),)
    found = [Finding("implausible_bytes", f"{capital(each)}.") for each in implausible]
    if model.merged:
        text = (
            f"These cells do not tell apart what each of these costs: {', '.join(model.merged)}. "
            "tlslab plan refuses loads that need them apart."
        )
        found.append(Finding("parts_not_identified", text))
    found += _parts(model, server)
    if checks:
        found.append(_error(checks))
    else:
        text = (
            "No mix that was held out of the fit has a result: how far the model is off is not "
            "known."
        )
        found.append(Finding("model_unchecked", text))
    return tuple(found)


def _parts(model: CostModel, server: str) -> list[Finding]:
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
    if not named:
        return []
    costs = [f"{words} costs {_cost(model.part(name))}" for name, words in named]
    text = f"On {server} {joined(costs)} of the server's processor time."
    return [Finding("cost_of_parts", text)]


def _cost(part: Estimate) -> str:
    return uncertain_words(part) or f"{with_interval(part)} µs"


def _error(checks: Sequence[Check]) -> Finding:
    """The largest error on a held-out mix, and the largest one that is not excluded."""
    useless = next((check for check in checks if check.error == math.inf), None)
    if useless is not None:
        text = (
            f"The fit gives {with_interval(useless.predicted)} µs for a mix measured at "
            f"{with_interval(useless.measured)} µs: too far off to plan with; run more blocks."
        )
        return Finding("model_error", text)
    bound = _bound(checks)
    off = f"by {percent(max(check.error for check in checks))}"
    if bound is not None:
        off += f" (95 %: up to {difference(bound)})"
    mixes = "the one mix" if len(checks) == 1 else f"{len(checks)} mixes"
    most = "" if len(checks) == 1 else "at most "
    text = f"On {mixes} held out of the fit the model is off {most}{off}"
    if bound is None:
        text += "; one block gives no interval."
    elif bound <= GOOD_ERROR:
        text += "; plan with it (tlslab plan)."
    else:
        text += f"; {percent(GOOD_ERROR)} is not excluded: run more blocks first."
    return Finding("model_error", text)


def _bound(checks: Sequence[Check]) -> float | None:
    """The largest error that the checks' intervals do not exclude.

    None if a check has no interval.
    """
    if any(check.ratio.low is None for check in checks):
        return None
    return max((check.bound for check in checks), default=None)
