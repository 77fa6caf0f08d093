"""The sentences of runs of the kind `costs`."""

from collections.abc import Mapping

from tlslab.domain.enough import too_wide
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Summary, Values
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.wording import capital, counted, difference, figure, joined, percent
from tlslab.words.numbers import ends_alone, with_interval, with_unit
from tlslab.words.sentence import Sentences

# The parts of a connection (analysis.costs.cost_parts).
_PARTS: Mapping[str, str] = {
    "full handshake": "a full handshake",
    "resumed handshake": "a resumed one",
    "request": "a request",
    "kB sent": "1,000 bytes sent",
}


def uncertain_words(cost: Estimate) -> str:
    """A cost in µs whose interval is too wide for a value; empty if it is narrow enough."""
    if cost.low is None or cost.high is None:
        return "" if cost.value > 0 else "nothing by the fit (no interval)"
    if cost.high <= 0:
        return "nothing by the fit (95 %: below 0)"
    if cost.low <= 0:
        return f"at most {figure(cost.high)} µs (95 %: not told apart from nothing)"
    if too_wide(cost.low, cost.high):
        return ends_alone(cost.low, cost.high, "µs")
    return ""


def implausible_words(values: Values) -> str:
    """The reason that a cost of bytes cannot be right; no full stop."""
    cost, sealed = values["cost_us"], values["sealed_us"]
    return (
        f"by the fit 1,000 bytes cost {figure(cost)} µs, {figure(cost / sealed)} times what their "
        f"encryption costs this machine ({figure(sealed)} µs): implausible"
    )


def _implausible_bytes(values: Values, cells: tuple[str, ...], summary: Summary) -> str:
    return f"{capital(implausible_words(values))}."


def _not_identified(values: Values, cells: tuple[str, ...], summary: Summary) -> str:
    return (
        f"These cells do not tell apart what each of these costs: {', '.join(values['parts'])}. "
        "tlslab plan refuses loads that need them apart."
    )


def _cost_of_parts(values: Values, cells: tuple[str, ...], summary: Summary) -> str:
    costs = [
        f"{_PARTS[name]} costs {uncertain_words(cost) or _micros(cost)}"
        for name, cost in values["parts"].items()
    ]
    server = summary.environment.target.name
    return f"On {server} {joined(costs)} of the server's processor time."


def _costs(values: Values, cells: tuple[str, ...], summary: Summary) -> str:
    costs = [
        f"{_PARTS[name]} {uncertain_words(cost) or with_unit(cost)}"
        for name, cost in values["parts"].items()
    ]
    return f"Processor time on {summary.environment.target.name}: {joined(costs)}."


def _micros(cost: Estimate) -> str:
    return f"{with_interval(cost, absent='trials')} µs"


def _model_error(values: Values, cells: tuple[str, ...], summary: Summary) -> str:
    if "predicted" in values:
        return (
            f"The fit gives {_micros(values['predicted'])} for a mix measured at "
            f"{_micros(values['measured'])}: too far off to plan with; run more blocks."
        )
    mixes, bound = values["mixes"], values["bound"]
    off = f"by {percent(values['error'])}"
    if bound is not None:
        off += f" (95 %: up to {difference(bound)})"
    held_out = "the one mix" if mixes == 1 else f"{mixes} mixes"
    most = "" if mixes == 1 else "at most "
    text = f"On {held_out} held out of the fit the model is off {most}{off}"
    if bound is None:
        return f"{text}; one block gives no interval."
    if values["good"]:
        return f"{text}; plan with it (tlslab plan)."
    return f"{text}; {percent(values['good_error'])} is not excluded: run more blocks first."


def _certainty(values: Values, cells: tuple[str, ...], summary: Summary) -> str:
    blocks = counted(values["n"], "block")
    if values["n"] < LEAST_BLOCKS:
        return f"{blocks}: dots only, no interval"
    return f"{blocks}: a fit for each; intervals of 95 % over blocks"


SENTENCES: Sentences = {
    "no_cost_model": lambda *_: "No block has a cost of every cell: there is no cost model.",
    "full_not_identified": lambda *_: "These cells do not identify the cost of a full handshake.",
    "cost_too_wide": lambda *_: (
        "The interval of the cost of a full handshake is too wide for a sentence."
    ),
    "implausible_bytes": _implausible_bytes,
    "parts_not_identified": _not_identified,
    "cost_of_parts": _cost_of_parts,
    "costs": _costs,
    "model_error": _model_error,
    "model_unchecked": lambda *_: (
        "No mix that was held out of the fit has a result: how far the model is off is not known."
    ),
    "certainty": _certainty,
}
