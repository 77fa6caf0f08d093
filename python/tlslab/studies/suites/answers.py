"""Findings of the suites study: codes with the numbers and intervals that support them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from tlslab.analysis.compare import Measured, compare
from tlslab.analysis.ranking import rank
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import SERVER_COST
from tlslab.domain.finding import Comparison, Finding
from tlslab.studies.study import Figures
from tlslab.studies.suites.diffie_hellman import Load, SizeCell, keep_alive_bound
from tlslab.studies.suites.orders import correlation_with, order_correlation
from tlslab.studies.suites.places import SuitePlace, short_name
from tlslab.words.validity import reasons_words

# Smaller differences between sizes are irrelevant, and among several comparisons one may arise by
# chance.
SMALLEST = 0.01


def fastest(place: SuitePlace, estimate: str) -> Finding | None:
    """The best suite by an estimate, the spread, and the number of suites tied with the best.

    The first by value is `best` only if it is detectably better than each of the others.
    """
    places = rank(place.usual, estimate)
    ranked = [each.cell for each in places]
    if len(ranked) < 2:
        return None
    ends = (ranked[0], ranked[-1])
    bound = any(cell.is_bound(estimate) for cell in ends)
    ties = [each.cell for each in places[1:] if each.best == 1]
    values = {
        "where": place.label,
        "best": places[0].worst == 1,
        "names": [short_name(cell) for cell in ends],
        "values": [cell.summary.estimates[estimate] for cell in ends],
        "bounds": [cell.is_bound(estimate) for cell in ends],
        "ratio": None if bound else _upright(compare(*ends, estimate)),
        "n": len(ranked),
        "ties": len(ties),
        "open": _left_open(ends[0], ties, estimate),
    }
    return Finding(f"suites_{estimate}", cells=_keys(ranked), values=values)


def _left_open(best: Measured, others: Sequence[Measured], estimate: str) -> float | None:
    """The largest difference that the ratios to the best leave open; None if one is unknown."""
    found = [compare(best, other, estimate) for other in others]
    known = [each.may_differ for each in found if each is not None and each.may_differ is not None]
    return max(known, default=None) if len(known) == len(found) else None


def orders_apart(place: SuitePlace) -> Finding | None:
    """Whether the order by handshakes equals the order on connections kept open."""
    tau = order_correlation(place.usual, place.keep_alive, SERVER_COST)
    if tau is None:
        return None
    values = {"where": place.label, "tau": tau}
    return Finding("suites_two_orders", cells=_keys(place.usual), values=values)


def beside_the_study(place: SuitePlace, study: Figures) -> Finding | None:
    """Our order and range against the published ones."""
    if any(place.setting.get(name, level) != level for name, level in study["applies_to"].items()):
        return None
    tau = correlation_with(place.usual, place.keep_alive, study["order"])
    if tau is None:
        return None
    both = [cell for cell in place.usual if short_name(cell) in study["order"]]
    known = [cell for cell in both if cell.may_rank(place.keep_alive)]
    ranked = [each.cell for each in rank(known, place.keep_alive)]
    ends = (ranked[0], ranked[-1]) if len(ranked) > 1 else None
    values = {
        "where": place.label,
        "date": study["date"],
        "tau": tau,
        "published": study["fastest_requests_per_s"] / study["slowest_requests_per_s"],
        "ratio": ends and _upright(compare(*ends, place.keep_alive)),
        "n": len(ranked),
    }
    return Finding("suites_beside_the_study", cells=_keys(both), values=values)


def _upright(comparison: Comparison | None) -> Estimate | None:
    """The ratio, inverted if necessary, so that it is above 1."""
    if comparison is None:
        return None
    found = comparison.as_estimate
    if found.value >= 1:
        return found
    low, high = (None if end is None else 1 / end for end in (found.high, found.low))
    return replace(found, value=1 / found.value, low=low, high=high)


def diffie_hellman(
    place: SuitePlace, found: Mapping[str, Sequence[SizeCell]], load: Load
) -> Iterator[Finding]:
    """The cost of the parameters' size to a handshake, and to a request."""
    for suite, rows in found.items():
        keys = _keys([row.cell for row in rows])
        where = {"where": place.label, "suite": suite, "against": rows[0].against}
        handshakes = {row.bits: each.as_estimate for row in rows if _able(each := row.handshake)}
        if handshakes:
            values = {**where, "ratios": handshakes, "without": _without(rows, SERVER_COST)}
            yield Finding("dh_handshake", cells=keys, values=values)
        requests = {row.bits: each.as_estimate for row in rows if _able(each := row.keep_alive)}
        if requests:
            values = {
                **where,
                "ratios": requests,
                "differing": [row.bits for row in rows if _differs(row.keep_alive)],
                "open": keep_alive_bound(rows),
                "without": _without(rows, place.keep_alive),
            }
            yield Finding("dh_keep_alive", cells=keys, values=values)
        known = {row.bits: row.share for row in rows if row.share is not None}
        if known:
            small = next((row for row in rows if row.bits == 1024 and row.share is not None), None)
            verdict, left = (None, None) if small is None else _verdict(small)
            values = {
                **where,
                "connections": load.connections,
                "seconds": load.seconds,
                "shares": known,
                "verdict": verdict,
                "open": left,
            }
            yield Finding("dh_share", cells=keys, values=values)


def _verdict(small: SizeCell) -> tuple[str | None, float | None]:
    """What a run says of the study's observation that 1024 bits are clearly worse.

    A key of `words.VERDICTS`, and the difference that stays open. The study gave no figure. Without
    an established difference a run neither confirms nor refutes it, however small the difference
    that stays open.
    """
    handshake, requests = small.handshake, small.keep_alive
    if not _able(handshake) or handshake.high is None:
        return None, None
    if not (handshake.differs and handshake.ratio < 1):
        return "not_cheaper", handshake.may_differ
    if not _able(requests):
        return "cheaper", None
    if not _differs(requests):
        return "open", keep_alive_bound([small])
    return ("seen_again" if requests.verdict == "slower" else "opposite"), None


def _able(comparison: Comparison | None) -> TypeGuard[Comparison]:
    """Whether there is a meaningful ratio: both sides are valid, neither is a lower bound."""
    return comparison is not None and comparison.verdict != "not_comparable"


def _differs(comparison: Comparison | None) -> bool:
    """Whether two sizes differ by a relevant amount."""
    if not _able(comparison):
        return False
    return comparison.differs and abs(comparison.ratio - 1) >= SMALLEST


def _without(rows: Sequence[SizeCell], estimate: str) -> dict[int, bool]:
    """The sizes that are not compared: whether each is a lower bound, or else has no valid result.

    Refused sizes have a finding of their own.
    """
    return {
        row.bits: row.cell.is_bound(estimate)
        for row in rows
        if not row.is_baseline
        and row.cell.summary.verdict != "unsupported"
        and not row.cell.may_rank(estimate)
    }


def not_supported(place: SuitePlace, cells: Sequence[Measured]) -> Finding | None:
    """The suites that the server refused, by its reasons."""
    refused = [cell for cell in cells if cell.summary.verdict == "unsupported"]
    reasons: dict[str, list[str]] = {}
    for cell in refused:
        names = reasons.setdefault(reasons_words(cell.summary), [])
        if short_name(cell) not in names:
            names.append(short_name(cell))
    values = {"where": place.label, "reasons": reasons}
    return Finding("suites_unsupported", cells=_keys(refused), values=values) if refused else None


def _keys(cells: Sequence[Measured]) -> tuple[str, ...]:
    return tuple(cell.summary.key for cell in cells)
