"""Classes of suites by their cipher and its authentication, as the study orders them.

Two classes are compared over the key exchanges, certificates and key sizes that both have, so that
none is compared through what the other lacks.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tlslab.analysis.compare import Measured
from tlslab.analysis.stats.families import holm
from tlslab.domain.finding import Finding, Values
from tlslab.domain.names import find_suite
from tlslab.studies.suites.matched import Match, Together, bound_of_all, judged, together
from tlslab.studies.suites.places import SuitePlace, family, short_name

# The classes by the names of their suites; the study's order is in `published.toml`.
_CLASSES = {
    "GCM": re.compile("_GCM_"),
    "CCM": re.compile("_CCM(_SHA256)?$"),
    "ChaCha20": re.compile("_CHACHA20_"),
    "CBC with SHA-1": re.compile("_AES_.*_CBC_SHA$"),
    "CBC with SHA-256": re.compile("_AES_.*_CBC_SHA256$"),
}

AEAD, CBC = "AEAD", "CBC"

# Classes that stand for several.
_OF_SEVERAL = {AEAD: tuple(_CLASSES)[:3], CBC: tuple(_CLASSES)[3:]}

# What a verdict says of the claim that the first of two classes is better.
_OF_CLAIM = {"faster": "holds", "slower": "reversed", "equivalent": "alike"}


@dataclass(frozen=True)
class ClassOrder:
    """Classes by one estimate, `first` being the study's best.

    `claims`: AEAD over CBC, then each class over the next in the study's order; None where no
    suites match. `to_first`: each other class over the first.
    """

    estimate: str
    first: str
    claims: Mapping[tuple[str, str], Together | None]
    to_first: Mapping[str, Together | None]
    left_out: tuple[str, ...]

    @property
    def values(self) -> Values:
        """The claims with their verdicts: `holds`, `reversed`, `alike`, `open`, `untried`."""
        return {
            "estimate": self.estimate,
            "claims": [
                {
                    "pair": pair,
                    "verdict": "untried"
                    if found is None
                    else _OF_CLAIM.get(found.ratio.verdict, "open"),
                    "ratio": found and found.ratio.as_estimate,
                    "open": found and found.ratio.may_differ,
                    "matches": found.matches if found else 0,
                }
                for pair, found in self.claims.items()
            ],
            "within": bound_of_all(self.claims.values()),
            "left_out": list(self.left_out),
        }

    @property
    def cells(self) -> tuple[str, ...]:
        """The keys of all cells that are compared."""
        found = (key for each in self.claims.values() if each for key in each.cells)
        return tuple(dict.fromkeys(found))


def class_order(place: SuitePlace, estimate: str, order: Sequence[str]) -> ClassOrder | None:
    """The classes of a place in the study's order; None if no two of them can be compared."""
    if not order:
        return None
    strata = _strata(place.usual)

    def compared(pair: tuple[str, str]) -> Together | None:
        return together(_matches(strata, *pair), estimate)

    pairs = [(AEAD, CBC), *pairwise(order)]
    claims = judged([compared(pair) for pair in pairs], adjust=holm)
    if not any(claims):
        return None
    valued = [cell for cell in place.usual if cell.values.get(estimate)]
    return ClassOrder(
        estimate=estimate,
        first=order[0],
        claims=dict(zip(pairs, claims, strict=True)),
        to_first={name: compared((name, order[0])) for name in order[1:]},
        left_out=tuple(short_name(cell) for cell in valued if not cell.may_rank(estimate)),
    )


def class_finding(place: SuitePlace, found: ClassOrder) -> Finding:
    """Which of the study's claims on classes hold, by one estimate."""
    values = {"where": place.label, **found.values}
    return Finding("suites_classes", cells=found.cells, values=values)


# Suites by key exchange, certificate and size of the key, then by class.
Strata = Mapping[tuple[str, int], Mapping[str, Sequence[Measured]]]


def _strata(cells: Sequence[Measured]) -> Strata:
    found: dict[tuple[str, int], dict[str, list[Measured]]] = {}
    for cell in cells:
        name = cell.summary.factors["suite"]
        suite = find_suite(name)
        of = next((known for known, form in _CLASSES.items() if form.search(name)), None)
        if suite is not None and of is not None:
            found.setdefault((family(cell), suite.bits), {}).setdefault(of, []).append(cell)
    return found


def _matches(strata: Strata, first: str, second: str) -> list[Match]:
    """The suites of two classes where both have any."""
    sides = ([_members(by_class, name) for name in (first, second)] for by_class in strata.values())
    return [(one, other) for one, other in sides if one and other]


def _members(by_class: Mapping[str, Sequence[Measured]], name: str) -> list[Measured]:
    return [cell for each in _OF_SEVERAL.get(name, (name,)) for cell in by_class.get(each, ())]
