"""The findings and the answer of a calibration: the costs of the parts, the error of their sum."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tlslab.analysis.costs.cost_parts import FULL, KILOBYTE, REQUEST, RESUMED
from tlslab.analysis.costs.model import Check, CostModel
from tlslab.analysis.enough import FEWEST, again, minutes, too_few
from tlslab.domain.enough import too_wide
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Answer, Finding, Lacking, Statement, Tile
from tlslab.domain.run import RunContents

# A model with a larger error on a mix outside its fit is not fit for planning.
GOOD_ERROR = 0.10

_TILES = {
    FULL: "Full handshake",
    RESUMED: "Resumed handshake",
    REQUEST: "Request",
    KILOBYTE: "1,000 bytes sent",
}


def findings(
    model: CostModel | None,
    checks: Sequence[Check],
    implausible: Sequence[Mapping[str, float]] = (),
) -> tuple[Finding, ...]:
    """The costs of the parts, the error of their sum, and the next step.

    `implausible`: the costs of bytes that cannot be right.
    """
    if model is None:
        return (Finding("no_cost_model"),)
    listed = [Finding("implausible_bytes", values=each) for each in implausible]
    if model.merged:
        listed.append(Finding("parts_not_identified", values={"parts": model.merged}))
    if parts := _parts(model):
        listed.append(Finding("cost_of_parts", values={"parts": parts}))
    listed.append(Finding("model_error", values=_error(checks)) if checks
                  else Finding("model_unchecked"))  # fmt: skip
    return tuple(listed)


def _parts(model: CostModel) -> dict[str, Estimate]:
    return {name: model.part(name) for name in _TILES if name in model.parts}


def _error(checks: Sequence[Check]) -> dict[str, Any]:
    """The largest error on a held-out mix, and the largest one that is not excluded.

    `bound` is None if a check has no interval. With an infinite error, the mix.
    """
    useless = next((check for check in checks if check.error == math.inf), None)
    if useless is not None:
        return {"predicted": useless.predicted, "measured": useless.measured}
    open_ = any(check.ratio.low is None for check in checks)
    bound = None if open_ else max(check.bound for check in checks)
    return {
        "mixes": len(checks),
        "error": max(check.error for check in checks),
        "bound": bound,
        "good": bound is not None and bound <= GOOD_ERROR,
        "good_error": GOOD_ERROR,
    }


def answer(
    contents: RunContents,
    model: CostModel | None,
    checks: Sequence[Check],
    found: Sequence[Finding],
) -> Answer:
    """The parts in one sentence, the model's error in another."""
    question = contents.experiment.title
    if model is None or FULL not in model.parts:
        code = "no_cost_model" if model is None else "full_not_identified"
        return Answer(question, lacking=Lacking(code=code))
    parts = _parts(model)
    n = parts[FULL].n
    lacking = None
    more = again(contents, "--blocks", str(2 * n))
    implausible = next((each for each in found if each.code == "implausible_bytes"), None)
    if n < FEWEST:
        lacking = too_few(contents, max(1, n))
    elif implausible:
        lacking = Lacking(command=more, code=implausible.code, values=implausible.values)
    elif too_wide(parts[FULL].low, parts[FULL].high):
        lacking = Lacking(command=more, minutes=minutes(contents, 2.0), code="cost_too_wide")
    errors = [Statement(each.code, each.values) for each in found
              if each.code in ("model_error", "model_unchecked")]  # fmt: skip
    costs = {name: part for name, part in parts.items() if name != KILOBYTE}
    return Answer(
        question=question,
        statements=() if lacking else (Statement("costs", {"parts": costs}), *errors)[:2],
        certainty=Statement("certainty", {"n": n}),
        lacking=lacking,
        tiles=() if lacking else _tiles(parts),
        figure="held-out" if checks else "",
    )


def is_uncertain(cost: Estimate) -> bool:
    """Whether the interval of a cost is too wide for a single figure, or it may be nothing.

    A part is a difference of costs. A noisy fit may give a negative value, although no part costs
    less than nothing.
    """
    if cost.low is None or cost.high is None:
        return cost.value <= 0
    return cost.low <= 0 or too_wide(cost.low, cost.high)


def _tiles(parts: Mapping[str, Estimate]) -> tuple[Tile, ...]:
    """The parts that are known well enough for a tile."""
    return tuple(Tile(_TILES[n], part) for n, part in parts.items() if not is_uncertain(part))
