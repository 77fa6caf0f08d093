"""A server's offer as the items that policies cover."""

from collections.abc import Iterator

from tlslab.domain.doubt import certificates_known
from tlslab.domain.grading import Topic
from tlslab.domain.offered import Offered

_SECONDS_PER_DAY = 86_400

# Newest first.
VERSIONS = ("1.3", "1.2", "1.1", "1.0", "SSL 3.0", "SSL 2.0")


def things(offered: Offered) -> tuple[tuple[Topic, str], ...]:
    """Each item once, with its topic, in the order of display."""
    return tuple(dict.fromkeys(_things(offered)))


def _things(offered: Offered) -> Iterator[tuple[Topic, str]]:
    for version in VERSIONS:
        if version in offered.spoken:
            yield "version", version
    suites = [suite for listed in offered.suites for suite in listed.accepted]
    yield from (("suite", suite.name) for suite in suites)
    for groups in offered.groups:
        yield from (("group", group.name) for group in groups.accepted)
    yield from (("group", suite.group) for suite in suites if suite.group is not None)
    for schemes in offered.signature_schemes:
        yield from (("scheme", scheme.name) for scheme in schemes.accepted)
    chains = offered.certificates
    yield from (("key", chain.key) for chain in chains)
    yield from (("signature", chain.signature_algorithm) for chain in chains)
    yield from (("lifetime", f"{_days(c.not_after - c.not_before)} days") for c in chains)
    yield from (("trait", trait) for trait, there in _traits(offered) if there)


def _days(seconds: int) -> int:
    """Whole days, rounded up: a certificate's last second is often left out."""
    return -(-seconds // _SECONDS_PER_DAY)


def _traits(offered: Offered) -> Iterator[tuple[str, bool]]:
    """Traits that policies may object to, each with whether the server has it."""
    spoken = offered.spoken
    if not spoken:
        # Of a server that refuses everything nothing is known.
        return
    yield "TLS 1.3 is missing", offered.lacks("1.3")
    yield "TLS 1.2 is missing", offered.lacks("1.2")
    if offered.compression is not None:
        yield "records are compressed", bool(offered.compression.records)
    if offered.renegotiation is not None:
        yield "renegotiation is not secure", offered.renegotiation.secure is False
        yield "clients may renegotiate", offered.renegotiation.client_initiated is True
    if offered.protections is not None:
        has = offered.protections
        yield "no extended master secret", has.extended_master_secret is False
        yield "CBC without encrypt-then-MAC", _has_cbc(offered) and has.encrypt_then_mac is False
        old = offered.lacks("1.3") and bool(spoken & {"1.0", "1.1", "SSL 3.0"})
        lacking = has.fallback_scsv is False
        yield "no fallback SCSV with old versions and without TLS 1.3", lacking and old
        yield "no fallback SCSV", lacking and not old
    if offered.certificates:
        staples = [chain.staple for chain in offered.certificates]
        known = certificates_known(offered.incomplete, (each.topic for each in offered.unanswered))
        yield "no stapled OCSP response", known and not any(staples)
    if offered.resumption is not None:
        found = offered.resumption
        early = bool(found.max_early_data_bytes) and found.early_data_accepted is not False
        yield "early data", early
        yield "PSK without a key exchange", found.psk_ke is True


def _has_cbc(offered: Offered) -> bool:
    names = (suite.name for suites in offered.suites for suite in suites.accepted)
    return any("_CBC_" in name for name in names)
