"""The sentences of a proof, shared by analysis and advice."""

from collections.abc import Mapping, Sequence
from typing import Literal

from tlslab.domain.estimates import quantity
from tlslab.domain.proof import Direction, Proof, ProofFigure, ProofVerdict, RoundTrips
from tlslab.domain.proof_settings import Measure
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.wording import capital, counted, joined, percent_as_given, ratio_figure

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

_NOT_APART: Mapping[Direction, str] = {
    "equal": ": no difference",
    "open": ": no difference is established",
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
    if quantity(found.estimate).dimension == "rate":
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
    if quantity(found.estimate).dimension == "rate":
        return found.better, low, high
    ends = [None if end is None or end <= 0 else 1 / end for end in (high, low)]
    return 1 / found.better, ends[0], ends[1]


def verdict_words(proof: Proof) -> str:
    """The name of the verdict."""
    return "A trade-off" if proof.trade_off else VERDICTS[proof.verdict]


def decided_words(proof: Proof) -> str:
    """The sentence of the verdict, with the figures that support it."""
    deciding = [each for each in proof.figures if each.decides]
    verdict = verdict_words(proof)
    if proof.verdict == "no_difference":
        most = percent_as_given(proof.settings.margin)
        found = joined([figure_words(each, own=True) for each in deciding])
        by_rate = any(quantity(each.estimate).dimension == "rate" for each in deciding)
        what = most if by_rate else f"{most} of the server's processor time"
        return f"{verdict}: more than {what} is excluded. The candidate has {found}."
    gains = [each for each in deciding if each.direction == "gain"]
    if proof.verdict == "do_not":
        losses = [each for each in deciding if each.direction == "loss"]
        parts = [f"it has {_listed(gains)}"] if gains else []
        parts += [f"{'but' if gains else 'it has'} {_listed(losses)}"] if losses else []
        if proof.trips is not None and proof.trips.saved:
            parts.append(f"{'but' if losses else 'and'} {_fewer_trips(proof.trips)}")
        return f"{verdict}: {'; '.join([*parts, *proof.reasons])}."
    worse: dict[Measure, ProofFigure] = {}
    for each in proof.figures:
        if each.direction == "loss":
            worse.setdefault(each.measure, each)
    but = f"; but {_listed(tuple(worse.values()))}" if worse else ""
    return f"{verdict}: it has {_listed(gains)}{but}."


def _fewer_trips(trips: RoundTrips) -> str:
    """`1 round trip instead of 2 for new clients, which was not measured`."""
    pairs = {"new": trips.new, "returning": trips.returning}
    saved = [
        f"{counted(after, 'round trip')} instead of {before} for {name} clients"
        for name, (before, after) in pairs.items()
        if after < before
    ]
    return f"{joined(saved)}, which was not measured"


def seen_words(proof: Proof) -> str:
    """What new and what returning clients see, and that round trips were not measured.

    Empty if nothing is known of the two apart.
    """
    parts = list(filter(None, (_seen(proof, "new"), _seen(proof, "returning"))))
    if not parts:
        return ""
    text = f"{capital('; '.join(parts))}."
    if proof.trips is None:
        return text
    where = "" if proof.settings.apply else " (server and clients share a machine)"
    return f"{text} Not measured: the cost of a round trip{where}."


def _seen(proof: Proof, clients: Literal["new", "returning"]) -> str:
    """`new clients: 0.57 times as many connections/s (...), 1 round trip instead of 2`."""
    parts = []
    known = [f for f in proof.figures if f.measure == clients and not f.why_open]
    known = [f for f in known if f.n >= LEAST_BLOCKS]
    settled = [f for f in known if f.direction != "open"]
    if known:
        figure = (settled or known)[0]
        words = figure_words(figure).replace(f" of {clients} clients", "")
        parts.append(f"{words}{_NOT_APART.get(figure.direction, '')}")
    if proof.trips is not None:
        before, after = getattr(proof.trips, clients)
        than = "as before" if before == after else f"instead of {before}"
        parts.append(f"{counted(after, 'round trip')} {than}")
    return f"{clients} clients: {', '.join(parts)}" if parts else ""


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
