"""A server's offer, graded by all policies."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

from tlslab.advice.clients import clients
from tlslab.advice.offer import things
from tlslab.advice.policy import Policy, all_policies
from tlslab.advice.simulate import LIMITS, simulate
from tlslab.domain.grading import Found, Grading, Judgement, Topic, Verdict, age_words
from tlslab.domain.offered import Offered


def judge(offered: Offered, day: date) -> Grading:
    """The grading of an offer on a day: the policies' judgements, and the clients that connect."""
    by = [policy for policy in all_policies() if _applies(policy, offered)]
    found = tuple(
        Found(topic, name, _judgements(by, topic, name, day)) for topic, name in things(offered)
    )
    return Grading(
        target=offered.target,
        address=offered.address,
        day=day.isoformat(),
        policies=tuple(policy.about for policy in by),
        verdicts=tuple(_verdict(policy, found) for policy in by),
        found=found,
        clients=tuple(simulate(offered, client) for client in clients()),
        limits=LIMITS,
        notes=tuple(_notes(offered, by, day)),
        incomplete=offered.incomplete,
        unanswered=offered.open_questions,
    )


def fails_everyone(grading: Grading) -> tuple[str, ...]:
    """The titles of the policies for every server that forbid an offered item."""
    return tuple(
        source.title
        for source in grading.policies
        if source.everyone and grading.verdict(source.name).forbidden
    )


def _applies(policy: Policy, offered: Offered) -> bool:
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


def _verdict(policy: Policy, found: Sequence[Found]) -> Verdict:
    grades = [
        judgement.grade
        for each in found
        for judgement in each.judgements
        if judgement.policy == policy.name
    ]
    forbidden, discouraged = grades.count("forbidden"), grades.count("discouraged")
    return Verdict(policy.name, not forbidden + discouraged, forbidden, discouraged)


def _notes(offered: Offered, by: Sequence[Policy], day: date) -> list[str]:
    """Facts that no policy grades and that a reader should know."""
    notes = list(offered.hints)
    if old := age_words([policy.about for policy in by], day):
        notes.append(old)
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    for chain in offered.certificates:
        if chain.fault is not None:
            notes.append(f"certificate with {chain.key}: {chain.fault}")
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
