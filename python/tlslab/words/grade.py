"""A grading in sentences and lists."""

from collections.abc import Sequence
from dataclasses import dataclass

from tlslab.domain.grading import (
    GRADES,
    Grade,
    GradeFinding,
    Grading,
    Outcome,
    Topic,
    as_of,
    objects,
)
from tlslab.domain.names import SUITES
from tlslab.domain.wording import joined

MARKS: dict[Grade, str] = {
    "recommended": "++",
    "acceptable": "+",
    "discouraged": "-",
    "forbidden": "X",
}

TITLES: dict[Topic, str] = {
    "version": "Versions",
    "suite": "Cipher suites",
    "group": "Key-exchange groups",
    "scheme": "Signature schemes",
    "key": "Certificate keys",
    "signature": "Signatures of certificates",
    "lifetime": "Lifetimes of certificates",
    "trait": "Everything else",
}

LEGEND = "++ recommended, + acceptable, - discouraged, X forbidden; empty: the policy says nothing"

# In place of the simulation, which needs the complete offer.
NO_CLIENTS = "Which known clients connect is not simulated: the offer is not wholly known."

_SHORT = {suite.name: suite.openssl for suite in SUITES}


def thing_name(found: GradeFinding) -> str:
    """The name in a table: OpenSSL's for a suite, or IANA's without its common parts."""
    return f"TLS {found.name}" if _is_tls(found) else suite_name(found.name)


def suite_name(name: str) -> str:
    """OpenSSL's name of a suite, or IANA's without its common parts; else the name itself."""
    if name in _SHORT or "_WITH_" not in name:
        return _SHORT.get(name, name)
    return name.removeprefix("TLS_").replace("_WITH_", "-").replace("_", "-")


def _is_tls(found: GradeFinding) -> bool:
    return found.topic == "version" and not found.name.startswith("SSL")


def headline(grading: Grading) -> str:
    """The answer in one sentence, by the policies for every server.

    If the offer is not wholly known, only forbidden items are certain: the server may offer more.
    """
    everyone = [source for source in grading.policies if source.everyone]
    failing = [source.title for source in everyone if grading.verdict(source.name).forbidden]
    forbid = forbid_words(failing or [source.title for source in everyone])
    if grading.doubt is not None:
        if failing:
            return f"{grading.target} offers what {forbid}."
        return (
            f"Cannot tell whether {grading.target} offers what {forbid}: {grading.doubt}; "
            f"nothing that the probe found is forbidden."
        )
    what = "what" if failing else "nothing that"
    if (reason := grading.shut_out) is not None:
        return (
            f"No known client connects to {grading.target} (simulated): {reason}; the server "
            f"offers {what} {forbid}."
        )
    connected = sum(client.connects for client in grading.clients)
    clients = f"{connected} of {len(grading.clients)} known clients connect (simulated)"
    return f"{grading.target} offers {what} {forbid}; {clients}."


def forbid_words(titles: Sequence[str]) -> str:
    """`RFC 9325 forbids`, `RFC 9325 and RFC 10015 forbid`."""
    return f"{joined(titles)} forbid{'s' if len(titles) == 1 else ''}"


def verdict_words(grading: Grading, policy: str) -> str:
    """`passes`, or the objections; `passes so far` if the offer is not wholly known."""
    verdict = grading.verdict(policy)
    if verdict.passes:
        return "passes" if grading.doubt is None else "passes so far"
    parts = [
        f"{number} {word}"
        for number, word in (
            (verdict.forbidden, "forbidden"),
            (verdict.discouraged, "discouraged"),
        )
        if number
    ]
    return f"fails: {', '.join(parts)}"


def notes(grading: Grading) -> tuple[str, ...]:
    """The notes, and what is not known of the offer."""
    early = [] if grading.incomplete is None else [grading.incomplete]
    return (*grading.notes, *early, *(f"not known: {each}" for each in grading.unanswered))


@dataclass(frozen=True)
class Objection:
    """A rule of a policy that objects, with all items that it objects to."""

    policy: str
    grade: Grade
    section: str
    reason: str
    names: tuple[str, ...]


def objections(grading: Grading) -> tuple[Objection, ...]:
    """Objections by policy, the gravest first."""
    grouped: dict[tuple[str, Grade, str, str], list[str]] = {}
    for found in grading.found:
        for said in found.judgements:
            if objects(said.grade):
                key = (said.policy, said.grade, said.section, said.reason)
                grouped.setdefault(key, []).append(thing_name(found))
    order = [source.name for source in grading.policies]
    keys = sorted(grouped, key=lambda key: (order.index(key[0]), -GRADES.index(key[1])))
    return tuple(Objection(*key, tuple(grouped[key])) for key in keys)


@dataclass(frozen=True)
class Dispute:
    """Items on which the same policies disagree."""

    names: tuple[str, ...]
    for_: tuple[str, ...]
    against: tuple[str, ...]


def disputes(grading: Grading) -> tuple[Dispute, ...]:
    """The disputes between policies; policies by the heads of their columns."""
    grouped: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for found in grading.found:
        if found.disputed:
            sides: tuple[list[str], list[str]] = ([], [])
            for said in found.judgements:
                sides[objects(said.grade)].append(grading.source(said.policy).short)
            grouped.setdefault((tuple(sides[0]), tuple(sides[1])), []).append(thing_name(found))
    return tuple(Dispute(tuple(names), *sides) for sides, names in grouped.items())


@dataclass(frozen=True)
class LaterGrade:
    """A future day from which a policy grades some items differently."""

    day: str
    policy: str
    grade: Grade
    names: tuple[str, ...]


def changes(grading: Grading) -> tuple[LaterGrade, ...]:
    """All future changes, the earliest first; policies by their titles."""
    grouped: dict[tuple[str, str, Grade], list[str]] = {}
    for found in grading.found:
        for said in found.judgements:
            for step in said.later:
                key = (step.since, grading.source(said.policy).title, step.grade)
                grouped.setdefault(key, []).append(thing_name(found))
    return tuple(LaterGrade(*key, tuple(grouped[key])) for key in sorted(grouped))


def outcome_words(outcome: Outcome) -> str:
    """The parameters that a client negotiates, or the reason that it cannot connect."""
    if not outcome.connects:
        return f"no: {outcome.reason}"
    version = outcome.version or ""
    titled = version if version.startswith("SSL") else f"TLS {version}"
    parts = [titled, suite_name(outcome.suite or ""), outcome.group, outcome.key, outcome.alpn]
    return ", ".join(part for part in (*parts, *outcome.notes) if part)


def basis_line(grading: Grading) -> str:
    """The days of the data files' comparison with their sources, and its basis."""
    parts = []
    for basis, how in (("text", "by their text"), ("excerpts", "by excerpts and descriptions")):
        of = [source for source in grading.policies if source.basis == basis]
        if of:
            days = sorted({source.as_of for source in of})
            titles = ", ".join(source.short for source in of)
            parts.append(f"{titles} {how}, {' to '.join(dict.fromkeys((days[0], days[-1])))}")
    newest = as_of(grading.policies)
    return f"Policies as of {newest}, held against their sources: {'; '.join(parts)}."


def trust_line(grading: Grading) -> str:
    """`trusted:` or `not trusted:`, with the reason; empty if that was not checked."""
    if grading.trust is None:
        return ""
    return f"{'' if grading.trust.is_trusted else 'not '}trusted: {grading.trust.message}"


def summary_line(grading: Grading) -> str:
    """The target, the day and the number of policies of the grading."""
    return (
        f"{grading.target} ({grading.address}), graded as of {grading.day} "
        f"by {len(grading.policies)} policies"
    )
