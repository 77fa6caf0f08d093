"""The sentences of the suites study."""

from collections.abc import Mapping
from functools import partial

from tlslab.domain.enough import EQUIVALENCE
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPEN_REQUESTS, OPEN_SERVER_COST, SERVER_COST
from tlslab.domain.finding import Summary, Values
from tlslab.domain.wording import (
    capital,
    difference,
    few,
    figure,
    joined,
    number_word,
    percent,
    ratio_figure,
)
from tlslab.studies.suites.diffie_hellman import SMALLEST
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

_CHEAPER = (
    "A handshake with 1024 bits is cheaper here than with 2048: handshakes cannot be why requests "
    "are slower with it"
)

# What a run says of the study's observation; `{}` is the difference that stays open.
VERDICTS = {
    "not_cheaper": (
        "A handshake with 1024 bits is not detectably cheaper here than with 2048{}: what that can "
        "do to requests is bounded by its share."
    ),
    "cheaper": f"{_CHEAPER}.",
    "open": (
        f"{_CHEAPER}. Whether they are slower here is open, by a difference {{}} (95 % for this "
        "ratio alone): what the study saw is neither confirmed nor refuted."
    ),
    "seen_again": f"{_CHEAPER}. They are slower here, too: what the study saw is seen again.",
    "opposite": f"{_CHEAPER}. They are faster here: the opposite of what the study saw.",
}

# What is said of the study's claims that one class is better than another, by verdict.
_CLAIMS = {
    "holds": "as in the study",
    "reversed": "the other way round",
    "alike": "alike",
    "open": "cannot tell",
    "untried": "not compared",
}


def _by_class(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    """The opening of the answer: requests, then new connections; without what was not compared."""
    tried = (
        {**order, "claims": [each for each in order["claims"] if each["ratio"]]}
        for order in v["orders"]
    )
    first, *others = map(_of_classes, tried)
    return " ".join((f"{v['where']}: {first}", *map(capital, others)))


def _classes(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    text = f"{v['where']}: {_of_classes(v)}"
    if v["estimate"] == SERVER_COST:
        ratios = [_times(each) for each in v["claims"] if each["ratio"]]
        if others := [each for each in ratios if each not in text]:
            sign = ":" if others == ratios else ";"
            text = f"{text[:-1]}{sign} {', '.join(others)}."
    if v["left_out"]:
        text += f" Left out, being lower bounds or not valid: {joined(v['left_out'])}."
    return text


def _of_classes(v: Values) -> str:
    """What classes do to requests, beside the study's order; or to new connections."""
    if v["estimate"] == SERVER_COST:
        return _classes_of_new(v)
    parts = []
    for verdict, words in _CLAIMS.items():
        pairs = [_claim(each) for each in v["claims"] if each["verdict"] == verdict]
        if pairs:
            parts.append(f"{words}: {', '.join(pairs)}")
    measured = _MEASURED[v["estimate"]].removeprefix("µs of ")
    return f"suites by class, {measured}, {'; '.join(parts)}."


def _claim(claim: Values) -> str:
    if claim["verdict"] in ("holds", "reversed"):
        return _times(claim)
    pair = " and ".join(claim["pair"])
    if claim["verdict"] == "untried":
        return pair
    left = "" if claim["open"] is None else f" (at most {difference(claim['open'])} apart)"
    return f"{pair}{left}"


def _times(claim: Values) -> str:
    """`GCM over CCM 1.20 (95 %: 1.18 to 1.22)`."""
    return f"{' over '.join(claim['pair'])} {_ratio(claim['ratio'])}"


def _classes_of_new(v: Values) -> str:
    within = None if v["within"] is None else difference(v["within"])
    together = "95 % for all ratios together"
    if v["within"] is not None and v["within"] <= EQUIVALENCE:
        return (
            "the class hardly matters for a new connection, whose cost to the server differs by "
            f"{within} at most ({together})."
        )
    differing = [each for each in v["claims"] if each["verdict"] in ("holds", "reversed")]
    if differing:
        pairs = ", ".join(map(_times, differing))
        return f"a new connection's cost to the server differs by the class: {pairs}."
    left = "too few blocks bound it" if within is None else f"up to {within} ({together}) is open"
    return (
        "no difference between classes is established in what a new connection costs the server; "
        f"{left}."
    )


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


def _sizes(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    every = "one suite" if v["matches"] == 1 else f"{v['matches']} suites together"
    against = f"against {v['against']} bits of Diffie-Hellman ({every})"
    return f"{v['where']}: {against}, {_costs(v)}{_without(v['without'])}."


def _generated(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    return (
        f"{v['where']}: with generated parameters of Diffie-Hellman, against the standard group of "
        f"the same size, {_costs(v)}."
    )


def _costs(v: Values) -> str:
    """What sizes do to handshakes and to requests, by ratios."""
    parts = []
    if v["handshakes"]:
        times = [f"{_ratio(each)} times with {bits}" for bits, each in v["handshakes"].items()]
        parts.append(f"a new connection costs the server {', '.join(times)} bits as much")
    if v["requests"]:
        ratios = ", ".join(f"{bits} bits {_ratio(each)}" for bits, each in v["requests"].items())
        if v["differing"]:
            said = f"a difference is detected with {joined(list(map(str, v['differing'])))} bits"
        elif v["within"] is None:
            said = "too few trials show whether the parameters matter"
        else:
            said = (
                f"no difference of {percent(SMALLEST)} or more is established, and one of over "
                f"{difference(v['within'])} is excluded (95 % for all sizes together)"
            )
        parts.append(f"on connections kept open {said}: {ratios}")
    return "; ".join(parts)


def _share(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    shares = ", ".join(
        f"{with_interval(share, form=_percent)} with {label} bits"
        if label.isdigit()
        else f"{with_interval(share, form=_percent)} with {label}"
        for label, share in v["shares"].items()
    )
    text = (
        f"{v['where']}: {v['connections']:,} handshakes within {v['seconds']:g} s are {shares} of "
        "the server's time; made in the warm-up they are none of it."
    )
    verdict, left = v["verdict"], v["open"]
    if verdict is None:
        return text
    size = "of any size" if left is None else f"of up to {difference(left)}"
    if verdict == "not_cheaper":
        size = "" if left is None else f" (a difference {size} stays open)"
    return f"{text} {VERDICTS[verdict].format(size)}"


def _without(names: Mapping[str, list[str]]) -> str:
    """`; without X with 1024 bits`: no valid result, or a lower bound."""
    missing = list(dict.fromkeys(name for each in names.values() for name in each))
    return f"; without {few(missing)} (no valid result, or a lower bound)" if missing else ""


def _without_tls(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    """What TLS costs over HTTP without it."""
    parts = []
    if v["every"]:
        what = _MEASURED[v["estimate"]].removeprefix("µs of ")
        ends = ""
        if len(v["ends"]) > 1:
            named = [f"{_ratio(ratio)} with {name}" for name, ratio in v["ends"]]
            ends = f", from {' to '.join(named)} (chosen by the same measurements)"
        parts.append(f"{v['n']} suites together have {_ratio(v['every'])} times {what}{ends}")
    if v["connections"]:
        times = [f"{_ratio(ratio)} times with {name}" for name, ratio in v["connections"].items()]
        parts.append(f"a new connection costs the server {', '.join(times)} as much")
    return f"{v['where']}, against HTTP without TLS: {'; '.join(parts)}."


def _memory(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    left = "too few trials bound what the suite does to memory"
    if v["within"] is not None:
        left = (
            f"with another suite the server's memory differs from that with {v['against']} by "
            f"{difference(v['within'])} at most (95 % for all {v['n']} together)"
        )
    text = f"{v['where']}, with connections kept open: {left}"
    if v["bytes"] is None:
        return f"{text}."
    low, high = v["bytes"]
    each = figure(low) if high - low < 1 else f"{figure(low)} to {figure(high)}"
    return (
        f"{text}; each request has {each} bytes of HTTP with every suite, so that bandwidth "
        "follows the requests/s (what records add was not measured)."
    )


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
    "suites_by_class": _by_class,
    "suites_classes": _classes,
    "suites_without_tls": _without_tls,
    "suites_memory": _memory,
    "dh_sizes": _sizes,
    "dh_generated": _generated,
    "dh_share": _share,
    "suites_unsupported": _unsupported,
}
