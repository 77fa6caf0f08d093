"""The sentences of a proof, shared by analysis and advice."""

from collections.abc import Mapping, Sequence

from tlslab.model.proof import Direction, Proof, ProofFigure, ProofVerdict
from tlslab.model.proof_settings import Measure
from tlslab.model.wording import counted, joined, percent_as_given, ratio_figure

VERDICTS: Mapping[ProofVerdict, str] = {
    "deploy": "Deploy the candidate",
    "no_difference": "No difference",
    "do_not": "Do not deploy the candidate",
    "cannot_tell": "Cannot tell",
}

MEASURES: Mapping[Measure, str] = {
    "connections": "connections",
    "new": "connections of new clients",
    "returning": "connections of returning clients",
    "requests": "requests on connections kept open",
    "handshake": "handshake time, p99",
}

# The names of measures in tables and charts.
SHORT: Mapping[Measure, str] = {
    "connections": "connections",
    "new": "new clients",
    "returning": "returning clients",
    "requests": "requests, kept open",
    "handshake": "handshake, p99",
}

DIRECTIONS: Mapping[Direction, str] = {
    "gain": "gain",
    "loss": "loss",
    "equal": "no difference",
    "open": "cannot tell",
}


def figure_words(found: ProofFigure, own: bool = False) -> str:
    """`9.8 times as many new connections/s (95 %: 9.2 to 10.4)`; of costs, `0.1 times as much`.

    `own`: with the interval of this ratio alone.
    """
    ends = (found.own_low, found.own_high) if own else (found.low, found.high)
    ratio, low, high = _as_measured(found, *ends)
    if found.estimate.endswith("_per_s"):
        what = f"{ratio_figure(ratio)} times as many {_per_second(found.measure)}"
    elif found.measure == "handshake":
        what = f"{ratio_figure(ratio)} times the handshake time (p99)"
    else:
        what = (
            f"{ratio_figure(ratio)} times the server's processor time for {MEASURES[found.measure]}"
        )
    if low is None or high is None:
        return what
    return f"{what} (95 %: {ratio_figure(low)} to {ratio_figure(high)})"


def _per_second(measure: Measure) -> str:
    words = MEASURES[measure]
    head, _, tail = words.partition(" ")
    return f"{head}/s {tail}".rstrip()


def _as_measured(
    found: ProofFigure, low: float | None, high: float | None
) -> tuple[float, float | None, float | None]:
    """The ratio candidate / baseline of the estimate, with the ends converted from `better`."""
    if found.estimate.endswith("_per_s"):
        return found.better, low, high
    ends = [None if end is None or end <= 0 else 1 / end for end in (high, low)]
    return 1 / found.better, ends[0], ends[1]


def decided_words(proof: Proof) -> str:
    """The sentence of the verdict, with the figures that support it."""
    deciding = [each for each in proof.figures if each.decides]
    verdict = VERDICTS[proof.verdict]
    if proof.verdict == "no_difference":
        most = percent_as_given(proof.settings.margin)
        found = joined([figure_words(each, own=True) for each in deciding])
        by_rate = any(each.estimate.endswith("_per_s") for each in deciding)
        what = most if by_rate else f"{most} of the server's processor time"
        return f"{verdict}: more than {what} is excluded. The candidate has {found}."
    gains = [each for each in deciding if each.direction == "gain"]
    if proof.verdict == "do_not":
        losses = [each for each in deciding if each.direction == "loss"]
        parts = [*proof.reasons, *([f"it has {_listed(losses)}"] if losses else [])]
        gained = f" It has {_listed(gains)}." if gains else ""
        return f"{verdict}: {joined(parts)}.{gained}"
    worse: dict[Measure, ProofFigure] = {}
    for each in proof.figures:
        if each.direction == "loss":
            worse.setdefault(each.measure, each)
    but = f"; but {_listed(tuple(worse.values()))}" if worse else ""
    return f"{verdict}: it has {_listed(gains)}{but}."


def _listed(figures: Sequence[ProofFigure]) -> str:
    return joined([figure_words(each) for each in figures])


def clients_words(proof: Proof) -> str:
    """The number of known clients that connect before and after, and the names of the lost ones."""
    total = len(proof.clients)
    before = sum(each.before.connects for each in proof.clients)
    after = sum(each.after.connects for each in proof.clients)
    lost = [each.client for each in proof.clients if each.lost]
    won = [each.client for each in proof.clients if each.won]
    text = f"Of {total} known clients {before} connect before and {after} after"
    if not lost and not won:
        return f"{text}: the same ones."
    parts = [f"{word}: {few(names)}" for word, names in (("lost", lost), ("won", won)) if names]
    return f"{text} ({'; '.join(parts)})."


def few(names: Sequence[str], most: int = 4) -> str:
    """The first names, and the number of the others."""
    more = len(names) - most
    shown = "; ".join(names[:most])
    return shown if more <= 0 else f"{shown} and {counted(more, 'other')}"
