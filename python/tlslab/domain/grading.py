"""The judgements of policies on a server's offer, and the clients that connect."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, get_args

from tlslab.domain.doubt import doubt_words
from tlslab.domain.wording import joined

# From the best to the worst.
Grade = Literal["recommended", "acceptable", "discouraged", "forbidden"]
GRADES: tuple[Grade, ...] = get_args(Grade)

# The policies for grading a server, by the names of their data files.
GRADING = (
    "rfc9325",
    "rfc10015",
    "rfc9113",
    "iana",
    "mozilla-intermediate",
    "mozilla-modern",
    "nist-800-52r2",
    "nist-ir8547",
    "bsi-tr-02102-2",
    "cnsa2",
)

# The policies for recommending a run's settings: they are for every server. In the order of a
# table's columns.
RECOMMENDING = ("rfc9325", "rfc10015", "mozilla-intermediate", "iana", "rfc9113")

# The parts of an offer, in the order of display.
Topic = Literal["version", "suite", "group", "scheme", "key", "signature", "lifetime", "trait"]
TOPICS: tuple[Topic, ...] = get_args(Topic)


def objects(grade: Grade) -> bool:
    """Whether this grade is an objection."""
    return grade in ("discouraged", "forbidden")


@dataclass(frozen=True)
class Source:
    """A policy as a reader cites it.

    `short` heads a column. `whom`: the audience of the policy; `everyone`: the audience is every
    server. `date` is the source's. `as_of`: the day on which the data file was last compared with
    the source; `basis`: with its text, or with excerpts and descriptions of it. `successor`: the
    place where the policy is continued, if its source has ended.
    """

    name: str
    title: str
    short: str
    date: str
    as_of: str
    basis: Literal["text", "excerpts"]
    source: str
    whom: str
    everyone: bool = False
    successor: str | None = None


def successor_words(sources: Iterable[Source]) -> tuple[str, ...]:
    """The successors of policies whose sources have ended, one sentence per successor."""
    titles: dict[str, list[str]] = {}
    for source in sources:
        if source.successor is not None:
            titles.setdefault(source.successor, []).append(source.title)
    return tuple(
        f"{joined(named)} {'is' if len(named) == 1 else 'are'} carried on at {place}."
        for place, named in titles.items()
    )


# Policies that were last compared with their sources longer ago than this may have changed.
OLD_MONTHS = 18


def as_of(sources: Sequence[Source]) -> str:
    """The last day on which one of these policies was compared with its source: `2026-11-24`."""
    return max(source.as_of for source in sources)


def age_words(sources: Sequence[Source], day: date) -> str:
    """A warning that even the newest of these policies is old on this day; empty if it is not."""
    newest = date.fromisoformat(as_of(sources))
    months = 12 * (day.year - newest.year) + day.month - newest.month
    if (months, day.day) <= (OLD_MONTHS, newest.day):
        return ""
    return (
        f"the policies were last held against their sources on {newest}, more than {OLD_MONTHS} "
        f"months before {day}: what they say may have changed; take a newer tlslab"
    )


@dataclass(frozen=True)
class Step:
    """A change of the grade on the day `since` (`2031-01-01`)."""

    since: str
    grade: Grade


@dataclass(frozen=True)
class Judgement:
    """A policy's judgement of one item, with the section of the policy."""

    policy: str
    grade: Grade
    section: str
    reason: str
    later: tuple[Step, ...] = ()


@dataclass(frozen=True)
class GradeFinding:
    """One item that the server offers or lacks, with all judgements on it.

    `name` is IANA's for suites and schemes, the probe's for everything else.
    """

    topic: Topic
    name: str
    judgements: tuple[Judgement, ...]

    @property
    def disputed(self) -> bool:
        """Whether some policies object to the item and others do not."""
        return len({objects(judgement.grade) for judgement in self.judgements}) > 1


@dataclass(frozen=True)
class Verdict:
    """The result of an offer under one policy; it passes if the policy objects to nothing."""

    policy: str
    passes: bool
    forbidden: int
    discouraged: int


@dataclass(frozen=True)
class Outcome:
    """A client's result: the negotiated parameters, or the reason that the handshake fails."""

    client: str
    released: int
    source: str
    connects: bool
    reason: str = ""
    version: str | None = None
    suite: str | None = None
    group: str | None = None
    key: str | None = None
    alpn: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trust:
    """Whether a client such as curl trusts the certificates, by the probe's code and words."""

    code: str
    message: str

    @property
    def is_trusted(self) -> bool:
        """Whether nothing speaks against the certificates."""
        return self.code == "trusted"


@dataclass(frozen=True)
class Grading:
    """A server's offer, graded for a day.

    `trust` is None if certificates were not checked, or none was found. `incomplete` says why the
    probe ended early, `unanswered` what the server did not answer.
    """

    target: str
    address: str
    day: str
    policies: tuple[Source, ...]
    verdicts: tuple[Verdict, ...]
    found: tuple[GradeFinding, ...]
    clients: tuple[Outcome, ...]
    limits: tuple[str, ...]
    trust: Trust | None = None
    notes: tuple[str, ...] = ()
    incomplete: str | None = None
    unanswered: tuple[str, ...] = ()

    @property
    def doubt(self) -> str | None:
        """Why the offer is not wholly known; None if it is."""
        is_spoken = any(each.topic == "version" for each in self.found)
        return doubt_words(self.incomplete, self.unanswered, is_spoken)

    @property
    def shut_out(self) -> str | None:
        """Why no known client connects, by the most frequent reason; None if one does.

        None also if the offer is not wholly known: another client may connect by what is not.
        """
        if self.doubt is not None or not self.clients or any(c.connects for c in self.clients):
            return None
        return Counter(client.reason for client in self.clients).most_common(1)[0][0]

    def verdict(self, policy: str) -> Verdict:
        """The verdict of the policy with this name."""
        return next(verdict for verdict in self.verdicts if verdict.policy == policy)

    def source(self, policy: str) -> Source:
        """The policy with this name."""
        return next(source for source in self.policies if source.name == policy)
