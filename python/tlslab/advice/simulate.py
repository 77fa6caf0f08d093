"""Simulation of the clients that connect to a server, from the probe's result: nothing is sent.

Known clients are the lists of a ClientHello of each (`clients.toml`).

The server is assumed to choose as in RFC 8446 (section 4.1.1) and RFC 5246 (section 7.4.1.3):
the newest common version, then the first suite, by its own order or by the client's, for which
there is a group and a certificate that the client can use.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from tlslab.advice.offer import chain_fault, groups_of, schemes_of, spoken, suites_of
from tlslab.advice.policy import number_in
from tlslab.contract.probe import Chain, Named, ProbeRecord, Suite
from tlslab.domain.grading import Outcome

Item = TypeVar("Item", bound=Named)

# Newest first.
VERSIONS = ("1.3", "1.2", "1.1", "1.0", "SSL 3.0", "SSL 2.0")

LIMITS = (
    "Simulated from the probe's result: no ClientHello of these clients was sent.",
    "Not seen: servers that do not stand a client's extensions; the certificate that a client "
    "without SNI gets; whether a client trusts the authority as the probe does, and the signatures "
    "of the chain; what a firewall lets pass.",
)

# The engine's name of an RSA key that signs by PSS alone (RFC 4055, section 1.2).
_PSS_KEY = "1.2.840.113549.1.1.10"

# Signature schemes by the certificate's key: in TLS 1.3 the curve belongs to the scheme.
_TLS13_SCHEMES = {
    "ECDSA P-256": (0x0403,),
    "ECDSA P-384": (0x0503,),
    "ECDSA P-521": (0x0603,),
    "Ed25519": (0x0807,),
    "Ed448": (0x0808,),
    "ML-DSA-44": (0x0904,),
    "ML-DSA-65": (0x0905,),
    "ML-DSA-87": (0x0906,),
    _PSS_KEY: (0x0809, 0x080A, 0x080B),
}
_RSA_PSS = (0x0804, 0x0805, 0x0806)

# In TLS 1.2 the low byte is the signature algorithm (RFC 5246, section 7.4.1.4.1).
_RSA, _ECDSA = 1, 3

# A TLS 1.2 client without the extension accepts SHA-1 (RFC 5246, section 7.4.1.4.1).
_UNSAID_SCHEMES = (0x0201, 0x0203)

# Hybrid groups, whose key shares make a ClientHello longer than a segment. The last one is a draft
# that browsers had before X25519MLKEM768.
_HYBRIDS = {0x11EB, 0x11EC, 0x11ED, 0x6399}

_CURVES = {"ECDSA P-256": 0x0017, "ECDSA P-384": 0x0018, "ECDSA P-521": 0x0019}


# The schema of `clients.toml`.
SCHEMA = "tlslab.clients/1"


@dataclass(frozen=True)
class Client:
    """A client and its offer, as numbers of IANA's registries in the client's own order.

    `groups` and `schemes` are None if the client sends no such extension. `dh_bits_at_most`: the
    longest Diffie-Hellman prime that the client accepts, None for any. `source`: the origin of the
    lists.
    """

    name: str
    released: int
    source: str
    versions: tuple[str, ...]
    suites: tuple[int, ...]
    groups: tuple[int, ...] | None
    schemes: tuple[int, ...] | None
    shares: tuple[int, ...]
    sni: bool
    alpn: tuple[str, ...]
    dh_bits_at_most: int | None = None


@cache
def clients() -> tuple[Client, ...]:
    """All clients that come with tlslab, by family and age."""
    file = resources.files("tlslab") / "advice" / "clients.toml"
    return read_clients(tomllib.loads(file.read_text("utf-8")))


def read_clients(data: Mapping[str, Any]) -> tuple[Client, ...]:
    """The clients of a data file's content. Raises ValueError if it has none."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"the schema of clients must be {SCHEMA}")
    return tuple(_client(table, data["sources"]) for table in data["client"])


def _client(table: Mapping[str, Any], sources: Mapping[str, str]) -> Client:
    def listed(key: str) -> tuple[int, ...] | None:
        return tuple(table[key]) if key in table else None

    return Client(
        name=table["name"],
        released=table["released"],
        source=sources[table["source"]],
        versions=tuple(table["versions"]),
        suites=tuple(table["suites"]),
        groups=listed("groups"),
        schemes=listed("schemes"),
        shares=tuple(table.get("shares", ())),
        sni=table["sni"],
        alpn=tuple(table["alpn"]),
        dh_bits_at_most=table.get("dh_bits_at_most"),
    )


class _RefusedError(Exception):
    """No connection; the text gives the reason."""


def simulate(offered: ProbeRecord, client: Client) -> Outcome:
    """The outcome of this client's connection: the negotiated parameters, or the fault."""
    about = (client.name, client.released, client.source)
    try:
        _refuse_large_hello(offered, client)
        version = _version(offered, client)
        choose = _tls13 if version == "1.3" else _older
        suite, group, key, notes = choose(offered, client, version)
    except _RefusedError as refused:
        return Outcome(*about, connects=False, reason=str(refused))
    if not client.sni:
        notes.append("sends no SNI")
    accepted = offered.alpn.accepted if offered.alpn is not None else ()
    alpn = next((name for name in client.alpn if name in accepted), None)
    return Outcome(*about, True, "", version, suite.name, group, key, alpn, tuple(notes))


def _refuse_large_hello(offered: ProbeRecord, client: Client) -> None:
    """Raises _RefusedError if the client's ClientHello is longer than what the server takes."""
    large = offered.large_hello
    if large is None or large.accepted is not False or not _HYBRIDS & set(client.shares):
        return
    words = large.refusal.words if large.refusal else "refused"
    raise _RefusedError(f"the server {words} to a ClientHello of more than one segment")


def _version(offered: ProbeRecord, client: Client) -> str:
    for version in VERSIONS:
        if version in spoken(offered) and version in client.versions:
            return version
    span = dict.fromkeys(_titled(client.versions[end]) for end in (-1, 0))
    raise _RefusedError(f"no version in common: the client has {' to '.join(span)}")


_Choice = tuple[Suite, str | None, str | None, list[str]]


def _tls13(offered: ProbeRecord, client: Client, version: str) -> _Choice:
    suites = _common_suites(offered, client, version)
    listed = groups_of(offered, version)
    groups = _in_order(listed.accepted, listed.order, client.groups or ())
    if listed.accepted and not groups:
        raise _RefusedError("no key-exchange group in common")
    shared = [group for group in groups if group.code_point in client.shares]
    notes = ["HelloRetryRequest"] if groups and not shared else []
    chains = [chain for chain in offered.certificates if version in chain.versions]
    known = {scheme.code_point for scheme in schemes_of(offered, version).accepted}
    usable = [chain for chain in chains if _verifies13(client, chain, known)]
    if chains and not usable:
        raise _RefusedError(_keys_refused(chains))
    group = next(iter(shared or groups), None)
    return suites[0], group.name if group else None, _accepted_key(usable), notes


def _accepted_key(usable: list[Chain]) -> str | None:
    """The key of the server's chain. Raises _RefusedError if the client refuses the chain."""
    if not usable:
        return None
    if (fault := chain_fault(usable[0])) is not None:
        raise _RefusedError(f"the client refuses the certificate: {fault}")
    return usable[0].key


def _verifies13(client: Client, chain: Chain, known: set[int]) -> bool:
    schemes = _RSA_PSS if chain.key.startswith("RSA") else _TLS13_SCHEMES.get(chain.key, ())
    offered = set(schemes) & set(client.schemes or ())
    return bool(offered & known if known else offered)


def _older(offered: ProbeRecord, client: Client, version: str) -> _Choice:
    why: list[str] = []
    for suite in _common_suites(offered, client, version):
        group = _group(offered, client, version, suite)
        if group is None and "ECDHE_" in suite.name and groups_of(offered, version).accepted:
            why.append("no key-exchange group in common")
            continue
        chains = _chains(offered, version, suite)
        usable = [c for c in chains if _verifies12(offered, client, version, suite, c)]
        if chains and not usable:
            why.append(_keys_refused(chains))
            continue
        _refuse_long_prime(client, suite)
        notes = [] if "DHE_" in suite.name else ["no forward secrecy"]
        return suite, group, _accepted_key(usable), notes
    raise _RefusedError(why[0])


def _common_suites(offered: ProbeRecord, client: Client, version: str) -> tuple[Suite, ...]:
    listed = suites_of(offered, version)
    suites = _in_order(listed.accepted, listed.order, client.suites)
    if not suites:
        raise _RefusedError(f"no cipher suite in common in {_titled(version)}")
    return suites


def _titled(version: str) -> str:
    return version if version.startswith("SSL") else f"TLS {version}"


def _in_order(
    accepted: Sequence[Item], order: str | None, wanted: tuple[int, ...]
) -> tuple[Item, ...]:
    """The common items, the server's choice first; `order`: whose preference decides."""
    by = {item.code_point: item for item in accepted}
    numbers = tuple(by) if order == "server" else wanted
    return tuple(by[number] for number in numbers if number in by and number in wanted)


def _group(offered: ProbeRecord, client: Client, version: str, suite: Suite) -> str | None:
    """The group of a suite; a client without the extension accepts any (RFC 8422, section 4)."""
    if "ECDHE_" not in suite.name:
        return suite.group
    has = groups_of(offered, version)
    wanted = client.groups or tuple(group.code_point for group in has.accepted)
    return next((group.name for group in _in_order(has.accepted, has.order, wanted)), None)


def _chains(offered: ProbeRecord, version: str, suite: Suite) -> list[Chain]:
    """The certificate chains that a suite can use."""
    kinds = ("ECDSA", "Ed") if "ECDSA" in suite.name else ("RSA", _PSS_KEY)
    chains = [chain for chain in offered.certificates if version in chain.versions]
    return [chain for chain in chains if chain.key.startswith(kinds)]


def _verifies12(
    offered: ProbeRecord, client: Client, version: str, suite: Suite, chain: Chain
) -> bool:
    curve = _CURVES.get(chain.key)
    if curve is not None and client.groups is not None and curve not in client.groups:
        return False
    if chain.key == _PSS_KEY and version != "1.2":
        return False
    # Before TLS 1.2 there is no choice; with static RSA nothing is signed.
    if version != "1.2" or suite.name.startswith("TLS_RSA_"):
        return True
    wanted = set(_UNSAID_SCHEMES if client.schemes is None else client.schemes)
    wanted = {scheme for scheme in wanted if _signs(chain.key, scheme)}
    known = {scheme.code_point for scheme in schemes_of(offered, version).accepted}
    return bool(wanted & known if known else wanted)


def _signs(key: str, scheme: int) -> bool:
    if key in ("Ed25519", "Ed448", _PSS_KEY):
        return scheme in _TLS13_SCHEMES[key]
    if key.startswith("RSA"):
        return scheme & 0xFF == _RSA or scheme in _RSA_PSS
    return scheme & 0xFF == _ECDSA


def _refuse_long_prime(client: Client, suite: Suite) -> None:
    """Raises _RefusedError: a server chooses DHE without knowing the client's limit."""
    limit = client.dh_bits_at_most
    size = number_in(suite.group or "") if suite.name.startswith("TLS_DHE_") else None
    if limit is not None and size is not None and size > limit:
        raise _RefusedError(
            f"the server chooses {suite.name} with {size} bits, the client takes {limit} at most"
        )


def _keys_refused(chains: list[Chain]) -> str:
    keys = ", ".join(dict.fromkeys(chain.key for chain in chains))
    return f"the client cannot use a certificate with {keys}"
