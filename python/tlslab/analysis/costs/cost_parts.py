"""The parts of a connection's cost to the server, and the number of each in a mix.

A connection has a handshake, full or resumed, and its requests; each request has its bytes. These
parts contain the centre's version, certificate key, group and suite; another level adds its extra
cost (or saving). In TLS 1.3 resumed connections exchange keys as well (psk_dhe_ke, RFC 8446,
section 2.2), so that the group counts in all of them; in TLS 1.2 a resumed connection has no key
exchange (RFC 5077). Bytes cost what their cipher costs, in either version.

Which level is the centre does not matter: with another centre, the parts are other sums of the same
costs.
"""

from collections.abc import Mapping
from functools import cache

from tlslab.analysis.limit import cipher_of
from tlslab.domain.experiment import Experiment
from tlslab.domain.names import SUITES, find_suite
from tlslab.domain.wording import level_label

FULL = "full handshake"
RESUMED = "resumed handshake"
REQUEST = "request"
KILOBYTE = "kB sent"

# The parts of every connection, whatever its levels.
BASIC = (FULL, RESUMED, REQUEST, KILOBYTE)

# Bytes of a document in a kilobyte.
KILO = 1000


def parts_of(factors: Mapping[str, str], experiment: Experiment) -> dict[str, float]:
    """The mean number of each part in one connection of a mix, by the part's name."""
    centre, work = experiment.centre, experiment.workload.of(factors)
    resumed = 0.0 if work.resume == "none" else work.resume_ratio
    full, requests = 1 - resumed, float(work.requests_per_connection)
    document = factors.get("document_bytes", str(work.document_bytes))
    kilobytes = requests * float(document) / KILO
    found = {FULL: full, RESUMED: resumed, REQUEST: requests, KILOBYTE: kilobytes}
    if _differs("tls", factors, centre):
        found[f"{_label('tls', factors)}: {FULL}"] = full
        found[f"{_label('tls', factors)}: {RESUMED}"] = resumed
    if _differs("key", factors, centre):
        found[_label("key", factors)] = full
    if _differs("group", factors, centre):
        found[_label("group", factors)] = full if factors.get("tls") == "1.2" else 1.0
    if (sent := bytes_part(factors, experiment)) != KILOBYTE:
        found[sent] = kilobytes
    # What `by-version` stands for is in the handshakes of its version.
    if _differs("suite", factors, centre) and find_suite(factors["suite"]) is not None:
        found[f"{_label('suite', factors)}: connection"] = 1.0
    return {name: count for name, count in found.items() if count}


def bytes_part(factors: Mapping[str, str], experiment: Experiment) -> str:
    """The part that a mix's cipher adds to the cost of its bytes; KILOBYTE for the centre's."""
    sent = _cipher(factors, experiment)
    middle = experiment.as_planned(experiment.centre)
    return KILOBYTE if sent == _cipher(middle, experiment) else f"{sent}: {KILOBYTE}"


def _cipher(factors: Mapping[str, str], experiment: Experiment) -> str:
    """The cipher, as the TLS 1.3 suite that has it; the version, if no single suite is forced."""
    suites = experiment.suites(factors)
    if len(suites) != 1:
        return level_label("tls", factors.get("tls", "1.3"))
    return _in_tls13(suites[0])


@cache
def _in_tls13(suite: str) -> str:
    """The TLS 1.3 suite of a suite's cipher; the cipher, if there is none."""
    found = cipher_of(suite)
    alike = (each.name for each in SUITES if each.tls == "1.3" and cipher_of(each.name) == found)
    return level_label("suite", next(alike, found))


def _differs(factor: str, factors: Mapping[str, str], centre: Mapping[str, str]) -> bool:
    return factor in centre and factors.get(factor) != centre[factor]


def _label(factor: str, factors: Mapping[str, str]) -> str:
    return level_label(factor, factors[factor])
