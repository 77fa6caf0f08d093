"""The sentences of runs of the kind `benchmark`."""

from tlslab.domain.benchmark import CONTROL, FAULT_KINDS, POLICIES, POLICY_WORDS
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Summary, Values
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.wording import capital, counted, difference, figure, joined
from tlslab.words.numbers import with_interval
from tlslab.words.sentence import Sentences

Cells = tuple[str, ...]

_WARMING = "its processes were still warming up"
_UNKNOWN = "where throughput stops growing is not known"


def _bare(values: Values) -> str:
    """`; no result at 8 and 16 threads`; empty if all numbers of threads have a result."""
    bare = values["bare"]
    if not bare:
        return ""
    threads = joined([str(number) for number in bare])
    return f"; no result at {threads} thread{'' if tuple(bare) == (1,) else 's'}"


def _threads(at: Estimate) -> str:
    words = f"{at.value:g} thread{'' if at.value == 1 else 's'}"
    return words if at.low is None or at.low == at.high else f"{words} ({at.low:g} to {at.high:g})"


def _knee(values: Values, cells: Cells, summary: Summary) -> str:
    curve, at, gain = values["curve"], values["at"], values["gain"]
    match values["growth"]:
        case "few":
            return f"{curve}: {_UNKNOWN}: fewer than {LEAST_BLOCKS} blocks carry no sentence."
        case "warming":
            return f"{curve}: {_UNKNOWN}: {_WARMING}. Warm up for longer."
        case "grows":
            which = "the most that have a result" if values["bare"] else "the most tried"
            still = f"throughput still grew at {at.value:g} threads, {which}"
            return f"{curve}: {still}{_bare(values)}."
        case "far":
            more = f"it may still be more than {values['far']:g} times as high. Run more blocks."
            return f"{curve}: {_UNKNOWN}: beyond {_threads(at)} {more}"
        case "open":
            return (
                f"{curve}: beyond {_threads(at)} no gain is detectable, but up to {gain - 1:.0%} "
                "cannot be excluded: run more blocks."
            )
    most = "" if gain is None else f" (at most {max(0.0, gain - 1):.1%})"
    return (
        f"{curve}: beyond {_threads(at)} no gain is detectable{most}; the most is "
        f"{values['best'].value:,.0f}/s, on {values['processors']} processors{_bare(values)}."
    )


def _growth(values: Values, cells: Cells, summary: Summary) -> str:
    """The threads beyond which throughput stops growing, and the highest throughput."""
    curve, gain = values["curve"], values["gain"]
    most = f"{figure(values['best'].value)}/s at {counted(values['threads'], 'thread')}"
    on = f"{most} on {counted(values['processors'], 'processor')}{_bare(values)}"
    if values["growth"] == "grows":
        tried = "that have a result" if values["bare"] else "tried"
        return f"{curve}: throughput still grew at the most threads {tried}, {on}."
    hedge = "not excluded" if values["growth"] == "open" else "at most"
    left = "" if gain is None else f" ({difference(max(0.0, gain - 1))} {hedge})"
    at = counted(int(values["at"].value), "thread")
    return f"{curve}: beyond {at} no gain is detectable{left}; the most is {on}."


def _growth_unknown(values: Values, cells: Cells, summary: Summary) -> str:
    match values["growth"]:
        case "warming":
            why = f"{_WARMING}. Warm up for longer"
        case "far":
            beyond = f"beyond {values['at'].value:g} threads"
            why = f"{beyond} it may still be more than {values['far']:g} times as high"
        case "few":
            why = f"fewer than {LEAST_BLOCKS} blocks carry no sentence"
        case _:
            why = values["curve"]
    return f"{capital(_UNKNOWN)}: {why}."


# The reason not to rely on a ratio, after a comma.
RESERVATIONS = {
    "": "",
    "no_interval": ", without an interval",
    "few": f", from fewer than {LEAST_BLOCKS} forks",
    "warming": f", while {_WARMING}",
}


def _processor_ratio(values: Values, cells: Cells, summary: Summary) -> str:
    ratio, reservation = values["ratio"], RESERVATIONS[values["reservation"]]
    interval = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    text = (
        f"{values['curve']}: one general processor keeps {ratio.value:.2f}{interval} signing "
        "processors busy"
    )
    return f"{text}{reservation}."


def _split_limit(values: Values, cells: Cells, summary: Summary) -> str:
    """Which side of a division of the processors was the limit, and how busy both were."""
    busy = " and ".join(
        f"{with_interval(values[side])} of the {side} processors" for side in ("general", "signing")
    )
    text = f"{values['curve']}, {counted(values['threads'], 'thread')}: {busy} were busy"
    if values["reservation"]:
        return f"{text}{RESERVATIONS[values['reservation']]}."
    match values["limit"]:
        case "neither":
            return f"{text}: neither side was the limit."
        case "open":
            return f"{text}: which side is the limit the run cannot tell."
        case limit:
            return f"{text}: the {limit} side is the limit, and needs more processors first."


def _fault(values: Values, cells: Cells, summary: Summary) -> str:
    policy = POLICY_WORDS[values["policy"]]
    where = f"With one of two signing nodes {values['fault']} ({policy})"
    if values["fault"] == CONTROL:
        where = f"Without a fault ({policy})"
    return f"{where}: {_throughput(values)}{_failures(values['failed'])}."


def _throughput(values: Values) -> str:
    change = f"{with_interval(values['change'])} times that before"
    if values["fault"] == CONTROL:
        return f"the rate of the seconds in which others have a fault is {change}"
    if values["over_control"] is None:
        return f"the rate is {change}; no control says how much of that the fault did"
    over = f"{with_interval(values['over_control'])} times what the control leads to expect"
    if values["family"] > 1:
        over += f" ({values['family']} loads with a fault judged together)"
    if not values["changed"]:
        return f"the run cannot tell whether the fault changed the rate, which is {over}"
    return f"the rate is {over}"


def _failures(failed: Estimate | None) -> str:
    if failed is None:
        return ""
    if failed.value == 0:
        return "; no operation failed"
    share = with_interval(failed, absent="", form=lambda share: f"{figure(share * 100)} %")
    return f"; {share} of the operations failed"


def _certainty(values: Values, cells: Cells, summary: Summary) -> str:
    words = f"{counted(values['n'], 'block')}, a fresh process for each trial"
    if not values["intervals"]:
        return words
    return f"{words}: dots only, no interval" if values["n"] < LEAST_BLOCKS else (
        f"{words}; 95 % intervals"
    )  # fmt: skip


SENTENCES: Sentences = {
    "knee": _knee,
    "no_knee": _knee,
    "knee_open": _knee,
    "growth": _growth,
    "growth_unknown": _growth_unknown,
    "processor_ratio": _processor_ratio,
    "split_limit": _split_limit,
    "no_benchmark": lambda *_: "No benchmark has a result: the warnings say why.",
    "no_curve": lambda *_: (
        "Each benchmark ran with one number of threads: `--set threads=1,2,4` shows how far more "
        "of them help."
    ),
    "certainty": _certainty,
    **{f"fault_{kind}_{policy}": _fault for kind in FAULT_KINDS for policy in POLICIES},
}
