"""The sentences of a proof: two configurations side by side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import RATIO, quantity
from tlslab.domain.finding import Summary, Values
from tlslab.domain.proof import Direction, Proof, ProofFigure, ProofVerdict, RoundTrips
from tlslab.domain.proof_settings import Measure
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.wording import (
    capital,
    counted,
    difference,
    joined,
    percent,
    percent_as_given,
)
from tlslab.words.numbers import interval, with_interval
from tlslab.words.sentence import Sentences

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

_NOT_APART: Mapping[Direction, str] = {
    "equal": ": no difference",
    "open": ": no difference is established",
}

# The largest number of clients that a sentence names.
_NAMED = 4


def _figure_words(found: ProofFigure, own: bool = False) -> str:
    """`9.8 times as many new connections/s (95 %: 9.2 to 10.4)`; of costs, `0.1 times as much`.

    `own`: with the interval of this ratio alone.
    """
    ends = (found.own_low, found.own_high) if own else (found.low, found.high)
    ratio = _as_measured(found, *ends)
    if quantity(found.estimate).dimension == "rate":
        what = f"times as many {_per_second(found.measure)}"
    elif found.measure == "handshake":
        what = "times the handshake time (p99)"
    else:
        what = f"times the server's processor time for {MEASURES[found.measure]}"
    return with_interval(ratio, unit=what, absent="")


def _per_second(measure: Measure) -> str:
    words = MEASURES[measure]
    head, _, tail = words.partition(" ")
    return f"{head}/s {tail}".rstrip()


def _as_measured(found: ProofFigure, low: float | None, high: float | None) -> Estimate:
    """The ratio candidate / baseline of the estimate, with the ends converted from `better`."""
    if quantity(found.estimate).dimension == "rate":
        return Estimate(found.better, low, high, found.n, RATIO, found.method)
    ends = [None if end is None or end <= 0 else 1 / end for end in (high, low)]
    return Estimate(1 / found.better, ends[0], ends[1], found.n, RATIO, found.method)


def verdict_words(proof: Proof) -> str:
    """The name of the verdict."""
    return "A trade-off" if proof.trade_off else VERDICTS[proof.verdict]


def _decided_words(proof: Proof) -> str:
    """The sentence of the verdict, with the figures that support it."""
    deciding = [each for each in proof.figures if each.decides]
    verdict = verdict_words(proof)
    if proof.verdict == "no_difference":
        most = percent_as_given(proof.settings.margin)
        found = joined([_figure_words(each, own=True) for each in deciding])
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


def _seen_words(proof: Proof) -> str:
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
        words = _figure_words(figure).replace(f" of {clients} clients", "")
        parts.append(f"{words}{_NOT_APART.get(figure.direction, '')}")
    if proof.trips is not None:
        before, after = getattr(proof.trips, clients)
        than = "as before" if before == after else f"instead of {before}"
        parts.append(f"{counted(after, 'round trip')} {than}")
    return f"{clients} clients: {', '.join(parts)}" if parts else ""


def _listed(figures: Sequence[ProofFigure]) -> str:
    return joined([_figure_words(each) for each in figures])


def _clients_words(proof: Proof) -> str:
    """The number of known clients that connect before and after, and the names of the lost ones."""
    total = len(proof.clients)
    before = sum(each.before.connects for each in proof.clients)
    after = sum(each.after.connects for each in proof.clients)
    lost = [each.client for each in proof.clients if each.lost]
    won = [each.client for each in proof.clients if each.won]
    text = f"Of {total} known clients {before} connect before and {after} after"
    if not lost and not won:
        return f"{text}: the same ones."
    parts = [
        f"{word}: {_few_clients(names)}" for word, names in (("lost", lost), ("won", won)) if names
    ]
    return f"{text} ({'; '.join(parts)})."


def _few_clients(names: Sequence[str]) -> str:
    """The first names, and the number of the others; some names contain a comma."""
    more = len(names) - _NAMED
    shown = "; ".join(names[:_NAMED])
    return shown if more <= 0 else f"{shown} and {counted(more, 'other')}"


def _proof(summary: Summary) -> Proof:
    assert summary.proof is not None
    return summary.proof


def _margin(summary: Summary) -> str:
    return percent_as_given(_proof(summary).settings.margin)


def _decided(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return _decided_words(_proof(summary))


def _for_clients(values: Values, cells: Sequence[str], summary: Summary) -> str:
    proof = _proof(summary)
    return " ".join(filter(None, (_seen_words(proof), _clients_words(proof))))


def _measured_alone(values: Values, cells: Sequence[str], summary: Summary) -> str:
    measured = replace(_proof(summary), verdict=values["verdict"])
    return f"By the measurements alone: {_decided_words(measured)}"


def _doubt(values: Values) -> str:
    return f"the offer of the {values['configuration']} is not wholly known: {values['doubt']}"


def _cannot_tell(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return f"{VERDICTS['cannot_tell']}: {_doubt(values)}."


def _offer_not_known(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return f"{capital(_doubt(values))}."


def _not_known(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return (
        f"{capital(_doubt(values))}; clients and policies are not compared, and are no reasons for "
        "the verdict."
    )


def _certainty(values: Values, cells: Sequence[str], summary: Summary) -> str:
    if not values["family"]:
        return f"{counted(values['blocks'], 'block')}, no ratio"
    return (
        f"{counted(values['blocks'], 'block')}; intervals of 95 % over a family of "
        f"{values['family']} ratios; less than {_margin(summary)} counts as no difference"
    )


def _open(values: Values, cells: Sequence[str], summary: Summary) -> str:
    most, names = _margin(summary), _names(values["open"])
    if values["gains"]:
        return (
            f"A gain is established for {_names(values['gains'])}; a loss of more than {most} is "
            f"not excluded for {names}."
        )
    text = (
        f"Neither a gain nor a loss is established, and a difference of more than {most} is not "
        f"excluded: {names}."
    )
    left = values["may_differ"]
    return text if left is None else f"{text} They may differ by up to {difference(left)}."


def _undecided(values: Values, cells: Sequence[str], summary: Summary) -> str:
    """The reasons that measures have no deciding ratio, and the remedy."""
    parts = [
        f"{MEASURES[measure]} ({'; '.join(why) or 'no result of both configurations'})"
        for measure, why in values["measures"].items()
    ]
    text = f"Nothing can decide: {', '.join(parts)}."
    if values["needs_metrics"]:
        text += " Give the live server's processor time: --server-metrics URL."
    return text


def _names(measures: Sequence[Measure]) -> str:
    return ", ".join(MEASURES[measure] for measure in measures)


def _break_even(values: Values, cells: Sequence[str], summary: Summary) -> str:
    share = values["share"]
    side, other = ("at most", "returning") if values["at_most"] else ("at least", "new")
    return (
        f"By the server's processor time the candidate pays as long as {side} "
        f"{percent(share.value)} of connections{interval(share.low, share.high, percent)} are "
        f"returning clients': {other} ones cost more with it. The verdict takes "
        f"{percent(values['assumed'])} for granted (--returning)."
    )


def _not_asked(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return "The load has no connections that are kept open: the verdict is on connections alone."


def _alike(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return (
        "The probe sees the same versions, suites and groups with both, and the measured client "
        "negotiates the same: whatever differs is not seen in a handshake."
    )


def _ended(values: Values, cells: Sequence[str], summary: Summary) -> str:
    blocks, planned = values["blocks"], values["planned_blocks"]
    if blocks >= planned:
        return f"The run took all of its {counted(planned, 'block')}."
    return f"The run ended after {blocks} of at most {planned} blocks."


def method(summary: Summary) -> tuple[str, ...]:
    """How a proof measures and decides, in paragraphs."""
    proof, workload = _proof(summary), summary.experiment.workload
    settings, kept = proof.settings, workload["keep_alive"]
    seconds = f"{workload['capacity']['measure_ms'] / 1000:g} s"
    ratios = sum(not each.why_open for each in proof.figures)
    where = "the live server, switched by the commands" if settings.apply else "one server"
    requests = ""
    if kept is not None:
        requests = f", and for {kept['window']['measure_ms'] / 1000:g} s requests"
    return (
        f"Baseline and candidate on {where}, in turns: in each block both, in an order drawn anew. "
        f"New clients and returning ones each load it for {seconds} by a "
        f"closed loop of new connections{requests} on connections kept open.",
        f"Connections are those of {settings.client}: version, suite, group and signature scheme "
        "are what each configuration chose on one verified connection with that client's lists, "
        "and every connection of the run is held to them. Returning clients resume a session; of "
        "a configuration that resumes none they are measured as new ones.",
        f"Ratios are paired by block. The {ratios} that can establish anything are one family: "
        "gain and loss are established by intervals that hold together with 95 % (Bonferroni). No "
        "difference: each deciding ratio's own interval of 95 % lies within "
        f"{_margin(summary)}. A gain is deployed where no deciding ratio's own "
        "interval allows a loss of more than that. A rate decides where it establishes a gain or "
        "a loss; otherwise the server's processor time does, which is steadier; without that the "
        "rate.",
    )


def _measures_caption(summary: Summary) -> str:
    return (
        "Times as good: candidate over baseline for rates, baseline over candidate for times; "
        "above 1 the candidate is better. Intervals of 95 % that hold together for all rows. "
        f"Connections: {percent(_proof(summary).settings.returning)} of them are returning "
        "clients'. What is in brackets is shown, and decides nothing."
    )


def _negotiated_caption(summary: Summary) -> str:
    return "Seen on one verified connection; every connection of the run had to have it."


def _clients_caption(summary: Summary) -> str:
    proof = _proof(summary)
    total, same = len(proof.clients), sum(not each.differs for each in proof.clients)
    return (
        f"{_clients_words(proof)} {same} of {total} negotiate the same before and after and are "
        "left out. Simulated from the probe's result; see the notes."
    )


def _policies_caption(summary: Summary) -> str:
    return (
        "How many things that each configuration offers a policy discourages or forbids. "
        "`tlslab grade` on the server names them. The lab's own certificates count as well."
    )


# The captions of tables, by their ids.
CAPTIONS: Mapping[str, Callable[[Summary], str]] = {
    "clients": _clients_caption,
    "measures": _measures_caption,
    "negotiated": _negotiated_caption,
    "policies": _policies_caption,
}

SENTENCES: Sentences = {
    "alike": _alike,
    "break_even": _break_even,
    "cannot_tell": _cannot_tell,
    "certainty": _certainty,
    "decided": _decided,
    "ended": _ended,
    "for_clients": _for_clients,
    "measured_alone": _measured_alone,
    "not_asked": _not_asked,
    "not_known": _not_known,
    "offer_not_known": _offer_not_known,
    "open": _open,
    "undecided": _undecided,
}
