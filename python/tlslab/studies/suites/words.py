"""The sentences of the suites study."""

from collections.abc import Mapping
from functools import partial

from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPEN_REQUESTS, OPEN_SERVER_COST, SERVER_COST
from tlslab.domain.finding import Summary, Values
from tlslab.domain.wording import difference, figure, number_word, percent, ratio_figure
from tlslab.studies.suites.answers import SMALLEST
from tlslab.studies.suites.orders import Tau
from tlslab.words.numbers import with_interval
from tlslab.words.sentence import Sentences

# The limits of a ratio between the first and the last of a ranking.
_CHOSEN = (
    "Both were chosen by the same measurements: the ratio is too large on average, and its "
    "interval does not allow for the choice."
)

_MEASURED = {
    OPEN_REQUESTS: "requests/s on connections kept open",
    SERVER_COST: "µs of the server's time for a new connection",
    OPEN_SERVER_COST: "µs of the server's time for a request on a connection kept open",
}

_CHEAPER = "A handshake with 1024 bits is cheaper here than with 2048"

# What a run says of the study's observation; `{}` is the difference that stays open.
VERDICTS = {
    "not_cheaper": (
        "A handshake with 1024 bits is not detectably cheaper here than with 2048{}: what that can "
        "do to requests is bounded by its share."
    ),
    "cheaper": f"{_CHEAPER}.",
    "open": (
        f"{_CHEAPER}; whether requests are slower with it is open, by a difference {{}} (95 % for "
        "this ratio alone): what the study saw is neither confirmed nor refuted."
    ),
    "seen_again": f"{_CHEAPER}; requests are slower with it: what the study saw is seen again.",
    "opposite": f"{_CHEAPER}; requests are faster with it: the opposite of what the study saw.",
}


def _fastest(measured: str, v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    best, last = (
        with_interval(value, bound="≥" if bound else "")
        for value, bound in zip(v["values"], v["bounds"], strict=True)
    )
    text = (
        f"{v['where']}: {v['names'][0]} is {'best' if v['best'] else 'first'} with {best} "
        f"{measured}; {v['names'][1]}, the last of {v['n']}, has {last}"
    )
    if any(v["bounds"]):
        text += " (≥: the generator was the limit)."
    else:
        text += f", a ratio of {_ratio(v['ratio'])}. {_CHOSEN}"
    if not v["ties"]:
        return text
    left = "too few blocks bound the difference"
    if v["open"] is not None:
        left = f"a difference of up to {difference(v['open'])} stays open"
    suites = "suite" if v["ties"] == 1 else "suites"
    number = number_word(v["ties"]).capitalize()
    return f"{text} {number} more {suites} cannot be distinguished from the best: {left}."


def _two_orders(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    return (
        f"{v['where']}: the order of suites on connections kept open and that by the cost of a "
        f"handshake agree with Kendall's tau = {_tau(v['tau'])}. 1 is the same order, 0 none."
    )


def _beside(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    text = (
        f"{v['where']}: against the order that the study published ({v['date']}), ours on "
        f"connections kept open has Kendall's tau = {_tau(v['tau'])}."
    )
    if v["ratio"] is None:
        return text
    return (
        f"{text} From slowest to fastest it found a ratio of {ratio_figure(v['published'])}; here "
        f"it is {_ratio(v['ratio'])}, over {v['n']} of its suites. {_CHOSEN}"
    )


def _tau(tau: Tau) -> str:
    """`0.61 (95 %, by the suites that can be told apart: 0.31 to 0.83; p = 0.0001; 23 suites)`."""
    interval = ""
    if tau.low is not None and tau.high is not None:
        ends = f"{tau.low:.2f} to {tau.high:.2f}"
        interval = f"95 %, by the suites that can be told apart: {ends}; "
    p = "p < 0.001" if tau.p < 0.001 else f"p = {tau.p:.2g}"
    return f"{tau.value:.2f} ({interval}{p}; {tau.n} suites)"


def _handshake(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    parts = [f"{bits} bits {_ratio(ratio)} times" for bits, ratio in v["ratios"].items()]
    return (
        f"{v['where']}, {v['suite']}: a new connection costs the server, against {v['against']} "
        f"bits of Diffie-Hellman, with {', with '.join(parts)} as much{_without(v['without'])}."
    )


def _keep_alive(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    parts = ", ".join(f"{bits} bits {_ratio(ratio)}" for bits, ratio in v["ratios"].items())
    where = f"{v['where']}, {v['suite']}: on connections kept open, against {v['against']} bits"
    without = _without(v["without"])
    if v["differing"]:
        sizes = ", ".join(map(str, v["differing"]))
        return f"{where}, a difference is detected with {sizes} bits ({parts}){without}."
    if v["open"] is None:
        return f"{where}, too few trials show whether the size matters ({parts}){without}."
    return (
        f"{where}, no difference of {percent(SMALLEST)} or more is established ({parts}): each "
        f"interval by itself leaves {difference(v['open'])} open at most{without}."
    )


def _share(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    shares = ", ".join(
        f"{with_interval(share, form=_percent)} with {bits} bits"
        for bits, share in v["shares"].items()
    )
    text = (
        f"{v['where']}, {v['suite']}: {v['connections']:,} handshakes within {v['seconds']:g} s "
        f"are {shares} of the server's time; made in the warm-up they are none of it."
    )
    verdict, left = v["verdict"], v["open"]
    if verdict is None:
        return text
    size = "of any size" if left is None else f"of up to {difference(left)}"
    if verdict == "not_cheaper":
        size = "" if left is None else f" (a difference {size} stays open)"
    return f"{text} {VERDICTS[verdict].format(size)}"


def _without(sizes: Mapping[int, bool]) -> str:
    """`; 1024 bits: no valid result`."""
    missing = [
        f"{bits} bits: {'a lower bound' if bound else 'no valid result'}"
        for bits, bound in sizes.items()
    ]
    return f"; {', '.join(missing)}" if missing else ""


def _unsupported(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    parts = [f"{', '.join(names)} ({why})" for why, names in v["reasons"].items()]
    return f"{v['where']}: refused by the server: {'; '.join(parts)}."


def _ratio(found: Estimate | None) -> str:
    """`1.31 (95 %: 1.28 to 1.34)`."""
    return "-" if found is None else with_interval(found)


def _percent(share: float) -> str:
    return f"{figure(share * 100)} %"


SENTENCES: Sentences = {
    **{f"suites_{name}": partial(_fastest, words) for name, words in _MEASURED.items()},
    "suites_two_orders": _two_orders,
    "suites_beside_the_study": _beside,
    "dh_handshake": _handshake,
    "dh_keep_alive": _keep_alive,
    "dh_share": _share,
    "suites_unsupported": _unsupported,
}
