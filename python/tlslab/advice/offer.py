"""What a probe found of a server's offer, as judgements need it."""

from typing import TypeVar

from tlslab.contract.probe import AcceptedItems, AcceptedSuites, Chain, ProbeRecord, Unanswered
from tlslab.domain.doubt import doubt_words

Accepted = TypeVar("Accepted", AcceptedSuites, AcceptedItems)


# In a record of the probe a list is empty, or a value None, if nothing was found out.


def spoken(offered: ProbeRecord) -> frozenset[str]:
    """The versions that the server speaks: `1.3`, `SSL 3.0`."""
    return frozenset(asked.version for asked in offered.versions if asked.accepted)


def lacks(offered: ProbeRecord, version: str) -> bool:
    """Whether the server refuses a version; not if it did not answer, or was not asked."""
    return any(asked.version == version and asked.accepted is False for asked in offered.versions)


def suites_of(offered: ProbeRecord, version: str) -> AcceptedSuites:
    """The suites of a version."""
    return _of(offered.suites, version) or AcceptedSuites(version, ())


def groups_of(offered: ProbeRecord, version: str) -> AcceptedItems:
    """The groups of TLS 1.3, or the common list of all earlier versions."""
    if version == "1.3":
        return _of(offered.groups, version) or AcceptedItems(version, ())
    older = (groups for groups in offered.groups if groups.version != "1.3")
    return next(older, AcceptedItems(version, ()))


def schemes_of(offered: ProbeRecord, version: str) -> AcceptedItems:
    """The signature schemes of TLS 1.3 or 1.2."""
    return _of(offered.signature_schemes, version) or AcceptedItems(version, ())


def _of(lists: tuple[Accepted, ...], version: str) -> Accepted | None:
    return next((listed for listed in lists if listed.version == version), None)


def chain_fault(chain: Chain) -> str | None:
    """Why clients that check certificates refuse a chain; None if nothing speaks against it.

    A probe that does not check chains (`--insecure`) does not check names, either.
    """
    if chain.problem is not None:
        return chain.problem
    if chain.trusted is not None and not chain.name_matches:
        return "it is not for the name asked for"
    return None


def left_open(offered: ProbeRecord) -> tuple[Unanswered, ...]:
    """The questions without an answer: the server may accept more than the lists say.

    Of the protocols whose offer failed HTTP/2 alone counts: a policy speaks of it.
    """
    failed = () if offered.alpn is None else offered.alpn.failed
    h2 = [Unanswered("alpn", "ALPN h2", each.refusal) for each in failed if each.name == "h2"]
    return (*offered.unanswered, *h2)


def unanswered_words(question: Unanswered) -> str:
    """`asked for TLS 1.2, the server gave no answer in 5 s, nor in 15 s`."""
    return f"asked for {question.question}, the server {question.refusal.words}"


def open_questions(offered: ProbeRecord) -> tuple[str, ...]:
    """What is not known, in words."""
    return tuple(dict.fromkeys(unanswered_words(each) for each in left_open(offered)))


def offer_doubt(offered: ProbeRecord) -> str | None:
    """Why the offer is not wholly known; None if it is."""
    return doubt_words(offered.incomplete, open_questions(offered), bool(spoken(offered)))
