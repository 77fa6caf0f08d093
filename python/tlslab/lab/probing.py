"""Before the first trial, the engine's probe finds the cells that the server supports.

One ClientHello for each cell, and a few handshakes for the certificates: well under a second. The
probe separates cells that the server does not support from cells that fail.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tlslab.contract.probe import OfferFound, ProbeRecord
from tlslab.domain.doubt import certificates_known
from tlslab.domain.errors import EngineError
from tlslab.domain.plan import Cell
from tlslab.domain.profile import Profile
from tlslab.domain.trial import Reason
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.served_key import key_name_level
from tlslab.lab.specs import Aim, tls_spec, trust_spec

SCHEMA = "tlslab.probe-spec/1"

# The largest number of connections per cell (the offer, the certificate's curve, the offer with
# it), and the number for certificates in addition to the versions.
CONNECTIONS_PER_CELL = 3
OTHER_CONNECTIONS = 50
CONNECTIONS_LIMIT = 2000


@dataclass(frozen=True)
class Probed:
    """Knowledge about cells before their first trial, by their keys.

    `refused`: cells that the server does not support; `supported`: cells that it does. Nothing is
    known about the others.
    """

    refused: Mapping[str, Reason] = field(default_factory=dict)
    supported: frozenset[str] = frozenset()


def probe_cells(engine: GeneratorPool, aim: Aim, cells: Sequence[Cell]) -> Probed:
    """For each cell, whether the server supports it; empty if the probe itself fails.

    A cell is left out if the server did not answer: its first trial decides.
    """
    try:
        found = engine.probe(probe_spec(aim, cells))
    except EngineError:
        return Probed()  # The first trial will report the problem with the server.
    refused: dict[str, Reason] = {}
    supported: set[str] = set()
    for cell, offer in zip(cells, found.offers, strict=False):
        reason = _refusal(cell.profile, offer) or _lacking_key(cell.profile, found)
        if reason is not None:
            refused[cell.key] = reason
        elif offer.accepted and _is_key_known(cell.profile, found):
            supported.add(cell.key)
    return Probed(refused, frozenset(supported))


def probe_spec(aim: Aim, cells: Sequence[Cell]) -> dict[str, Any]:
    """The specification of a probe for these cells."""
    wanted = OTHER_CONNECTIONS + CONNECTIONS_PER_CELL * len(cells)
    spec: dict[str, Any] = {
        "schema": SCHEMA,
        "target": urlsplit(aim.url).netloc,
        "trust": trust_spec(aim.trust),
        "allow": list(aim.allow),
        "offers": [tls_spec(cell.profile) for cell in cells],
        "limits": {"connections": min(wanted, CONNECTIONS_LIMIT)},
    }
    if aim.server_name is not None:
        spec["server_name"] = aim.server_name
    if any(cell.profile.key is not None for cell in cells):
        spec["only"] = ["certificates"]
    return spec


def _refusal(profile: Profile, offer: OfferFound) -> Reason | None:
    if offer.accepted is not False or offer.refusal is None:
        return None
    words = f"the server {offer.refusal.words} to {describe_offer(profile)}"
    return Reason(offer.refusal.class_, words)


def describe_offer(profile: Profile) -> str:
    """An offer in words: `TLS 1.3 with only X25519MLKEM768`."""
    only = [*profile.groups, *profile.suites, *profile.signature_schemes]
    version = "any version of TLS" if profile.tls is None else f"TLS {profile.tls}"
    return f"{version} with only {', '.join(only)}" if only else version


def _levels(profile: Profile, found: ProbeRecord) -> tuple[str, ...]:
    """The kinds of key that the server has in the profile's version."""
    versions = [chain for chain in found.certificates if profile.tls in (None, *chain.versions)]
    return tuple(dict.fromkeys(key_name_level(chain.key) for chain in versions))


def _is_key_known(profile: Profile, found: ProbeRecord) -> bool:
    """Whether the probe shows if the server has the profile's key."""
    seen = profile.key is None or profile.key in _levels(profile, found)
    return seen or certificates_known(found.incomplete, (each.topic for each in found.unanswered))


def _lacking_key(profile: Profile, found: ProbeRecord) -> Reason | None:
    """The reason if the server has no certificate with the key.

    None if no chains were found at all, or if there may be others.
    """
    levels = _levels(profile, found)
    if profile.key in (None, *levels) or not levels or not _is_key_known(profile, found):
        return None
    version = "" if profile.tls is None else f" in TLS {profile.tls}"
    words = f"the server has no {profile.key} certificate{version}; it has {', '.join(levels)}"
    return Reason("certificate_key", words)
