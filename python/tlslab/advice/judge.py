"""A server's offer, graded by all policies."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime

from tlslab.advice.offer import chain_fault, lacks, open_questions, spoken
from tlslab.advice.policy import Policy, all_policies
from tlslab.advice.simulate import LIMITS, VERSIONS, clients, simulate
from tlslab.contract.probe import ProbeRecord
from tlslab.domain.doubt import certificates_known
from tlslab.domain.grading import (
    GradeFinding,
    Grading,
    Judgement,
    Topic,
    Trust,
    Verdict,
    age_words,
)

_SECONDS_PER_DAY = 86_400


def judge(offered: ProbeRecord, day: date) -> Grading:
    """The grading of an offer on a day: the policies' judgements, and the clients that connect."""
    by = [policy for policy in all_policies() if _applies(policy, offered)]
    found = tuple(
        GradeFinding(topic, name, _judgements(by, topic, name, day))
        for topic, name in things(offered)
    )
    said = offered.trust
    return Grading(
        target=offered.target,
        address=offered.address,
        day=day.isoformat(),
        policies=tuple(policy.about for policy in by),
        verdicts=tuple(_verdict(policy, found) for policy in by),
        found=found,
        clients=tuple(simulate(offered, client) for client in clients()),
        limits=LIMITS,
        trust=None if said is None else Trust(said.code, said.message),
        notes=tuple(_notes(offered, by, day)),
        incomplete=offered.incomplete,
        unanswered=open_questions(offered),
    )


def fails_everyone(grading: Grading) -> tuple[str, ...]:
    """The titles of the policies for every server that forbid an offered item."""
    return tuple(
        source.title
        for source in grading.policies
        if source.everyone and grading.verdict(source.name).forbidden
    )


def _applies(policy: Policy, offered: ProbeRecord) -> bool:
    """Whether a policy applies. A policy for HTTP/2 needs a server that selects it."""
    if policy.http != "2":
        return True
    return offered.alpn is not None and "h2" in offered.alpn.accepted


def _judgements(by: Sequence[Policy], topic: Topic, name: str, day: date) -> tuple[Judgement, ...]:
    judgements = []
    for policy in by:
        rule = policy.of(topic, name)
        if rule is not None:
            later = tuple(step for step in rule.later if step.since > day.isoformat())
            judgements.append(Judgement(policy.name, rule.on(day), rule.section, rule.words, later))
    return tuple(judgements)


def _verdict(policy: Policy, found: Sequence[GradeFinding]) -> Verdict:
    grades = [
        judgement.grade
        for each in found
        for judgement in each.judgements
        if judgement.policy == policy.name
    ]
    forbidden, discouraged = grades.count("forbidden"), grades.count("discouraged")
    return Verdict(policy.name, not forbidden + discouraged, forbidden, discouraged)


def _notes(offered: ProbeRecord, by: Sequence[Policy], day: date) -> list[str]:
    """Facts that no policy grades and that a reader should know."""
    notes = list(offered.hints)
    if old := age_words([policy.about for policy in by], day):
        notes.append(old)
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    for chain in offered.certificates:
        if chain_fault(chain) is not None:
            notes.append(f"certificate with {chain.key}: {chain_fault(chain)}")
        elif chain.not_after < midnight:
            # On another day than the probe's: until then the server will have a new one.
            notes.append(f"certificate with {chain.key}: expired on this day")
        if chain.must_staple and chain.staple is None:
            notes.append(
                f"certificate with {chain.key}: it requires a stapled OCSP response (must-staple, "
                f"RFC 7633), and the server staples none: clients that heed this refuse it"
            )
    if offered.dh_prime is not None:
        notes.append(f"the prime of the server's own Diffie-Hellman parameters {offered.dh_prime}")
    if offered.client_certificate:
        notes.append(
            "the server asks for a client certificate: clients without one may be refused, at the "
            "handshake or by the answer to a request"
        )
    large = offered.large_hello
    if large is not None and large.accepted is False:
        words = large.refusal.words if large.refusal else "refused"
        notes.append(
            f"the server {words} to a ClientHello of {large.bytes:,} bytes, which is more than one "
            f"segment: clients that send a hybrid key share, as new browsers do, do not connect"
        )
    return notes


def things(offered: ProbeRecord) -> tuple[tuple[Topic, str], ...]:
    """Each item once, with its topic, in the order of display."""
    return tuple(dict.fromkeys(_things(offered)))


def _things(offered: ProbeRecord) -> Iterator[tuple[Topic, str]]:
    for version in VERSIONS:
        if version in spoken(offered):
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


def _traits(offered: ProbeRecord) -> Iterator[tuple[str, bool]]:
    """Traits that policies may object to, each with whether the server has it."""
    versions = spoken(offered)
    if not versions:
        # Of a server that refuses everything nothing is known.
        return
    yield "TLS 1.3 is missing", lacks(offered, "1.3")
    yield "TLS 1.2 is missing", lacks(offered, "1.2")
    if offered.compression is not None:
        yield "records are compressed", bool(offered.compression.records)
    if offered.renegotiation is not None:
        yield "renegotiation is not secure", offered.renegotiation.secure is False
        yield "clients may renegotiate", offered.renegotiation.client_initiated is True
    if offered.protections is not None:
        has = offered.protections
        yield "no extended master secret", has.extended_master_secret is False
        yield "CBC without encrypt-then-MAC", _has_cbc(offered) and has.encrypt_then_mac is False
        old = lacks(offered, "1.3") and bool(versions & {"1.0", "1.1", "SSL 3.0"})
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


def _has_cbc(offered: ProbeRecord) -> bool:
    names = (suite.name for suites in offered.suites for suite in suites.accepted)
    return any("_CBC_" in name for name in names)
