"""Findings of the suites study: sentences with the intervals that support them."""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from tlslab.analysis.compare import Measured, compare
from tlslab.analysis.ranking import rank
from tlslab.domain.estimates import OPEN_REQUESTS, SERVER_COST
from tlslab.domain.finding import Comparison, Finding
from tlslab.domain.wording import (
    difference,
    figure,
    number_word,
    percent,
    ratio_figure,
    with_interval,
)
from tlslab.studies.study import Figures
from tlslab.studies.suites.diffie_hellman import Load, SizeCell, keep_alive_bound
from tlslab.studies.suites.orders import correlation_with, order_correlation, tau_words
from tlslab.studies.suites.places import Place, short_name
from tlslab.studies.suites.suite_tables import ratio

# Smaller differences between sizes are irrelevant, and among several comparisons one may arise by
# chance.
SMALLEST = 0.01

# The limits of a ratio between the first and the last of a ranking.
CHOSEN = (
    "Both were chosen by the same measurements: the ratio is too large on average, and its "
    "interval does not allow for the choice."
)

_MEASURED = {
    OPEN_REQUESTS: "requests/s on connections kept open",
    SERVER_COST: "µs of the server's time for a new connection",
}
_REQUEST_COST = "µs of the server's time for a request on a connection kept open"


def fastest(place: Place, estimate: str) -> Finding | None:
    """The best suite by an estimate, the spread, and the number of suites tied with the best."""
    places = rank(place.usual, estimate)
    ranked = [each.cell for each in places]
    if len(ranked) < 2:
        return None
    best, last = ranked[0], ranked[-1]
    # The first by value is called the best only if it is detectably better than each of the others.
    first = "best" if places[0].worst == 1 else "first"
    text = (
        f"{place.label}: {short_name(best)} is {first} with {_value(best, estimate)} "
        f"{_MEASURED.get(estimate, _REQUEST_COST)}; {short_name(last)}, the last of {len(ranked)}, "
        f"has {_value(last, estimate)}"
    )
    if best.is_bound(estimate) or last.is_bound(estimate):
        text += " (≥: the generator was the limit)."
    else:
        text += f", a ratio of {ratio_words(_upright(compare(best, last, estimate)))}. {CHOSEN}"
    ties = [each.cell for each in places[1:] if each.best == 1]
    if ties:
        plural = "suite" if len(ties) == 1 else "suites"
        number = number_word(len(ties)).capitalize()
        text += (
            f" {number} more {plural} cannot be distinguished from the best"
            f"{left_open(best, ties, estimate)}."
        )
    return Finding(f"suites_{estimate}", text, tuple(cell.summary.key for cell in ranked))


def _value(cell: Measured, estimate: str) -> str:
    found = cell.summary.estimates[estimate]
    return f"≥ {figure(found.value)}" if cell.is_bound(estimate) else with_interval(found)


def left_open(best: Measured, others: Sequence[Measured], estimate: str) -> str:
    """The largest difference that the ratios to the best leave open, in words."""
    left = [
        None if found is None else found.may_differ
        for found in (compare(best, other, estimate) for other in others)
    ]
    known = [each for each in left if each is not None]
    if len(known) < len(left):
        return ": too few blocks bound the difference"
    return f": a difference of up to {difference(max(known))} stays open"


def orders_apart(place: Place) -> Finding | None:
    """Whether the order by handshakes equals the order on connections kept open."""
    tau = order_correlation(place.usual, place.keep_alive, SERVER_COST)
    if tau is None:
        return None
    text = (
        f"{place.label}: the order of suites on connections kept open and that by the cost of a "
        f"handshake agree with Kendall's tau = {tau_words(tau)}. 1 is the same order, 0 none."
    )
    return Finding("suites_two_orders", text, tuple(cell.summary.key for cell in place.usual))


def beside_the_study(place: Place, study: Figures) -> Finding | None:
    """Our order and range against the published ones."""
    if any(place.setting.get(name, level) != level for name, level in study["applies_to"].items()):
        return None
    tau = correlation_with(place.usual, place.keep_alive, study["order"])
    if tau is None:
        return None
    text = (
        f"{place.label}: against the order that the study published ({study['date']}), ours on "
        f"connections kept open has Kendall's tau = {tau_words(tau)}."
    )
    both = [cell for cell in place.usual if short_name(cell) in study["order"]]
    known = [cell for cell in both if cell.may_rank(place.keep_alive)]
    ranked = [each.cell for each in rank(known, place.keep_alive)]
    if len(ranked) > 1:
        published = study["fastest_requests_per_s"] / study["slowest_requests_per_s"]
        spread = compare(ranked[0], ranked[-1], place.keep_alive)
        text += (
            f" From slowest to fastest it found a ratio of {ratio_figure(published)}; here it "
            f"is {ratio_words(_upright(spread))}, over {len(ranked)} of its suites. {CHOSEN}"
        )
    return Finding("suites_beside_the_study", text, tuple(cell.summary.key for cell in both))


def _upright(comparison: Comparison | None) -> Comparison | None:
    """The same ratio, inverted if necessary, so that it is above 1."""
    if comparison is None or comparison.ratio >= 1:
        return comparison
    low, high = comparison.low, comparison.high
    turned = {
        **vars(comparison),
        "ratio": 1 / comparison.ratio,
        "low": None if high is None else 1 / high,
        "high": None if low is None else 1 / low,
    }
    return Comparison(**turned)


def diffie_hellman(
    place: Place, found: Mapping[str, Sequence[SizeCell]], load: Load
) -> tuple[Finding, ...]:
    """The cost of the parameters' size to a handshake, and to a request."""
    reported: list[Finding] = []
    for suite, rows in found.items():
        reported += [
            finding
            for finding in (
                _handshake_by_size(place, suite, rows),
                _keep_alive_by_size(place, suite, rows),
                _share_by_size(place, suite, rows, load),
            )
            if finding is not None
        ]
    return tuple(reported)


def _handshake_by_size(place: Place, suite: str, rows: Sequence[SizeCell]) -> Finding | None:
    parts = [
        f"{row.bits} bits {ratio_words(row.handshake)} times"
        for row in rows
        if _comparable(row.handshake)
    ]
    if not parts:
        return None
    text = (
        f"{place.label}, {suite}: a new connection costs the server, against {rows[0].against} "
        f"bits of Diffie-Hellman, with {', with '.join(parts)} as much"
        f"{_without(rows, SERVER_COST)}."
    )
    return Finding("dh_handshake", text, _keys(rows))


def _keep_alive_by_size(place: Place, suite: str, rows: Sequence[SizeCell]) -> Finding | None:
    measured = [row for row in rows if _comparable(row.keep_alive)]
    if not measured:
        return None
    differing = [row for row in measured if _differs(row.keep_alive)]
    bound = keep_alive_bound(rows)
    parts = ", ".join(f"{row.bits} bits {ratio_words(row.keep_alive)}" for row in measured)
    where = f"{place.label}, {suite}: on connections kept open, against {rows[0].against} bits"
    without = _without(rows, place.keep_alive)
    if differing:
        sizes = ", ".join(str(row.bits) for row in differing)
        text = f"{where}, a difference is detected with {sizes} bits ({parts}){without}."
    elif bound is None:
        text = f"{where}, too few trials show whether the size matters ({parts}){without}."
    else:
        text = (
            f"{where}, no difference of {percent(SMALLEST)} or more is established ({parts}): each "
            f"interval by itself leaves {difference(bound)} open at most{without}."
        )
    return Finding("dh_keep_alive", text, _keys(rows))


def _share_by_size(
    place: Place, suite: str, rows: Sequence[SizeCell], load: Load
) -> Finding | None:
    known = [row for row in rows if row.share is not None]
    if not known:
        return None
    shares = ", ".join(f"{_share_words(row)} with {row.bits} bits" for row in known)
    text = (
        f"{place.label}, {suite}: {load.connections:,} handshakes within {load.seconds:g} s are "
        f"{shares} of the server's time; made in the warm-up they are none of it."
    )
    said = (text, _verdict_on_the_study(known))
    return Finding("dh_share", " ".join(filter(None, said)), _keys(rows))


def _verdict_on_the_study(rows: Sequence[SizeCell]) -> str:
    """What this run says of the study's observation that 1024 bits are clearly worse.

    The study gave no figure. Without an established difference a run neither confirms nor refutes
    it, however small the difference that stays open.
    """
    small = next((row for row in rows if row.bits == 1024), None)
    if small is None or not _comparable(small.handshake) or small.handshake.high is None:
        return ""
    if not (small.handshake.differs and small.handshake.ratio < 1):
        left = small.handshake.may_differ
        bound = "" if left is None else f" (a difference of up to {difference(left)} stays open)"
        return (
            f"A handshake with 1024 bits is not detectably cheaper here than with 2048{bound}: "
            "what that can do to requests is bounded by its share."
        )
    keep_alive = small.keep_alive
    text = "A handshake with 1024 bits is cheaper here than with 2048"
    if not _comparable(keep_alive):
        return text + "."
    if not _differs(keep_alive):
        left = keep_alive_bound([small])
        size = "of any size" if left is None else f"of up to {difference(left)}"
        return text + (
            f"; whether requests are slower with it is open, by a difference {size} (95 % for this "
            "ratio alone): what the study saw is neither confirmed nor refuted."
        )
    if keep_alive.verdict == "slower":
        return text + "; requests are slower with it: what the study saw is seen again."
    return text + "; requests are faster with it: the opposite of what the study saw."


def _share_words(row: SizeCell) -> str:
    """`1.92 % (95 %: 1.90 to 1.95)`."""
    share = row.share
    if share is None:
        return "-"
    text = f"{figure(share.value * 100)} %"
    if share.low is None or share.high is None:
        return f"{text} (no interval)"
    return f"{text} (95 %: {figure(share.low * 100)} to {figure(share.high * 100)})"


def _comparable(comparison: Comparison | None) -> TypeGuard[Comparison]:
    """Whether there is a meaningful ratio: both sides are valid, neither is a lower bound."""
    return comparison is not None and comparison.verdict != "not_comparable"


def _differs(comparison: Comparison | None) -> bool:
    """Whether two sizes differ by a relevant amount."""
    if not _comparable(comparison):
        return False
    return comparison.differs and abs(comparison.ratio - 1) >= SMALLEST


def _without(rows: Sequence[SizeCell], estimate: str) -> str:
    """The sizes that are not compared, with the reasons; refused sizes have a sentence of their
    own.

    `; 1024 bits: no valid result`.
    """
    missing = [
        f"{row.bits} bits: "
        + ("a lower bound" if row.cell.is_bound(estimate) else "no valid result")
        for row in rows
        if not row.is_baseline
        and row.cell.summary.verdict != "unsupported"
        and not row.cell.may_rank(estimate)
    ]
    return f"; {', '.join(missing)}" if missing else ""


def _keys(rows: Sequence[SizeCell]) -> tuple[str, ...]:
    return tuple(row.cell.summary.key for row in rows)


def ratio_words(comparison: Comparison | None) -> str:
    """`1.31 (95 %: 1.28 to 1.34)`."""
    found = ratio(comparison)
    if found is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{ratio_figure(found.value)} (no interval)"
    low, high = ratio_figure(found.low), ratio_figure(found.high)
    return f"{ratio_figure(found.value)} (95 %: {low} to {high})"


def not_supported(place: Place, cells: Sequence[Measured]) -> Finding | None:
    """The suites that the server refused, with its reasons."""
    refused = [cell for cell in cells if cell.summary.verdict == "unsupported"]
    if not refused:
        return None
    reasons: dict[str, list[str]] = {}
    for cell in refused:
        words = "; ".join(note.message for note in cell.summary.reasons)
        reasons.setdefault(words, []).append(short_name(cell))
    parts = [f"{', '.join(dict.fromkeys(names))} ({words})" for words, names in reasons.items()]
    text = f"{place.label}: refused by the server: {'; '.join(parts)}."
    return Finding("suites_unsupported", text, tuple(cell.summary.key for cell in refused))
