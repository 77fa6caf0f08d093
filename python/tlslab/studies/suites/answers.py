"""Findings of the suites study: codes with the numbers and intervals that support them."""

from collections.abc import Sequence
from dataclasses import replace

from tlslab.analysis.compare import Measured, compare
from tlslab.analysis.ranking import rank
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    OPEN_BYTES,
    OPEN_MEMORY,
    OPEN_REQUESTS,
    OPEN_SERVER_COST,
    SERVER_COST,
)
from tlslab.domain.finding import Comparison, Finding
from tlslab.studies.study import Figures
from tlslab.studies.suites.matched import bound_of_all, together
from tlslab.studies.suites.orders import correlation_with, order_correlation
from tlslab.studies.suites.places import FAMILIES, SuitePlace, family, short_name, usable
from tlslab.words.validity import reasons_words


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


def without_tls(place: SuitePlace, plain: Measured | None) -> Finding | None:
    """What TLS costs: the suites against HTTP without TLS, with the same version and load.

    By the rate of requests, or the server's cost of one if the generator was the limit without TLS;
    of new connections by the key exchange.
    """
    if plain is None:
        return None
    by = place.keep_alive if plain.may_compare(place.keep_alive) else OPEN_SERVER_COST
    every = together([([cell], [plain]) for cell in place.usual], by)
    each = [(cell, compare(cell, plain, by)) for cell in place.usual if usable(cell, by)]
    known = [(cell, found) for cell, found in each if found and found.verdict != "not_comparable"]
    ends = sorted(known, key=lambda one: one[1].ratio)[:: max(1, len(known) - 1)]
    by_family = {
        name: together([([c], [plain]) for c in place.usual if family(c) == name], SERVER_COST)
        for name in FAMILIES
    }
    connections = {name: found.ratio.as_estimate for name, found in by_family.items() if found}
    if every is None and not connections:
        return None
    values = {
        "where": place.label,
        "estimate": by,
        "every": every and every.ratio.as_estimate,
        "n": len(known),
        "ends": [(short_name(cell), found.as_estimate) for cell, found in ends],
        "connections": connections,
    }
    return Finding("suites_without_tls", cells=_keys([*place.usual, plain]), values=values)


def memory(place: SuitePlace) -> Finding | None:
    """Whether the suite changes the server's memory, or the bytes of HTTP for a request."""
    able = [cell for cell in place.usual if cell.may_compare(OPEN_MEMORY)]
    if len(able) < 2:
        return None
    first, *others = able
    found = [together([([cell], [first])], OPEN_MEMORY) for cell in others]
    bytes_each = [
        cell.values[OPEN_BYTES][block] / rate
        for cell in place.usual
        for block, rate in cell.values.get(OPEN_REQUESTS, {}).items()
        if block in cell.values.get(OPEN_BYTES, {}) and rate > 0
    ]
    values = {
        "where": place.label,
        "against": short_name(first),
        "memory": first.summary.estimates.get(OPEN_MEMORY),
        "within": bound_of_all(found),
        "n": len(others),
        "bytes": [min(bytes_each), max(bytes_each)] if bytes_each else None,
    }
    return Finding("suites_memory", cells=_keys([first, *others]), values=values)


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
