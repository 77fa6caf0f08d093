"""The parts of a connection's cost to the server, and the number of each in a mix.

A connection has a handshake, full or resumed, and its requests; each request has its bytes. These
parts contain the centre's version, certificate key, group and suite; another level adds its extra
cost (or saving). In TLS 1.3 resumed connections exchange keys as well (psk_dhe_ke, RFC 8446,
section 2.2), so that the group counts in all of them; in TLS 1.2 a resumed connection has no key
exchange (RFC 5077).
"""

from collections.abc import Mapping

from tlslab.model.wording import level_label

FULL = "full handshake"
RESUMED = "resumed handshake"
REQUEST = "request"
KILOBYTE = "kB sent"

# The parts of every connection, whatever its levels.
BASIC = (FULL, RESUMED, REQUEST, KILOBYTE)

# Bytes of a document in a kilobyte.
KILO = 1000


def parts_of(factors: Mapping[str, str], centre: Mapping[str, str]) -> dict[str, float]:
    """The mean number of each part in one connection of a mix, by the part's name."""
    resumed = share(factors.get("resumed", "0%"))
    full = 1 - resumed
    requests = float(factors.get("requests", "1"))
    kilobytes = requests * float(factors.get("document_bytes", "0")) / KILO
    found = {FULL: full, RESUMED: resumed, REQUEST: requests, KILOBYTE: kilobytes}
    version = factors.get("tls", "1.3")
    if _differs("tls", factors, centre):
        found[f"{_label('tls', factors)}: {FULL}"] = full
        found[f"{_label('tls', factors)}: {RESUMED}"] = resumed
    if _differs("key", factors, centre):
        found[_label("key", factors)] = full
    if _differs("group", factors, centre):
        found[_label("group", factors)] = 1.0 if version == "1.3" else full
    if _differs("suite", factors, centre) and version == centre.get("tls", version):
        found[f"{_label('suite', factors)}: {KILOBYTE}"] = kilobytes
        found[f"{_label('suite', factors)}: connection"] = 1.0
    return {name: count for name, count in found.items() if count}


def share(percentage: str) -> float:
    """`60%` as 0.6."""
    return int(percentage.rstrip("%")) / 100


def _differs(factor: str, factors: Mapping[str, str], centre: Mapping[str, str]) -> bool:
    return factor in centre and factors.get(factor) != centre[factor]


def _label(factor: str, factors: Mapping[str, str]) -> str:
    return level_label(factor, factors[factor])
