"""What policies say of a server's offer, and which clients connect."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, get_args

from tlslab.model.wording import joined

# From the best to the worst.
Grade = Literal["recommended", "acceptable", "discouraged", "forbidden"]
GRADES: tuple[Grade, ...] = get_args(Grade)

# The policies by which a server can be graded, by the names of their data files.
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

# What an offer consists of, in the order in which it is shown.
Topic = Literal["version", "suite", "group", "scheme", "key", "signature", "lifetime", "trait"]
TOPICS: tuple[Topic, ...] = get_args(Topic)


def objects(grade: Grade) -> bool:
    """Whether this grade is an objection."""
    return grade in ("discouraged", "forbidden")


@dataclass(frozen=True)
class Source:
    """A policy as a reader cites it.

    `short` is the head of a column, `whom` says whom the policy is for, `everyone` whether that is
    every server. `date` is that of the source, `as_of` when the data file was last held against
    the source: against its text, or against excerpts and descriptions of it (`basis`). `successor`
    is where the policy is carried on, if its source has ended.
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
    """Where policies are carried on whose sources have ended, a sentence for each such place."""
    titles: dict[str, list[str]] = {}
    for source in sources:
        if source.successor is not None:
            titles.setdefault(source.successor, []).append(source.title)
    return tuple(
        f"{joined(named)} {'is' if len(named) == 1 else 'are'} carried on at {place}."
        for place, named in titles.items()
    )


# Policies that were last held against their sources longer ago than this may have changed.
OLD_MONTHS = 18


def as_of(sources: Sequence[Source]) -> str:
    """The last day on which one of some policies was held against its source: `2026-11-24`."""
    return max(source.as_of for source in sources)


def age_words(sources: Sequence[Source], day: date) -> str:
    """That the newest of some policies is old on a day, in words; empty where it is not."""
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
    """From the day `since` on (`2031-01-01`) the grade is another one."""

    since: str
    grade: Grade


@dataclass(frozen=True)
class Judgement:
    """What one policy says of one thing, with the place where it says so."""

    policy: str
    grade: Grade
    section: str
    reason: str
    later: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Found:
    """One thing that the server offers or lacks, with all that is said of it.

    `name` is IANA's for suites and schemes, the probe's for everything else.
    """

    topic: Topic
    name: str
    judgements: tuple[Judgement, ...]

    @property
    def disputed(self) -> bool:
        """Whether some policies would have it and others not."""
        return len({objects(judgement.grade) for judgement in self.judgements}) > 1


@dataclass(frozen=True)
class Verdict:
    """How an offer fares with one policy; it passes when the policy objects to nothing."""

    policy: str
    passes: bool
    forbidden: int
    discouraged: int


@dataclass(frozen=True)
class Outcome:
    """What a client meets: what was negotiated, or why nothing was."""

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
class Grading:
    """A server's offer, graded on a day; `incomplete` says why the probe ended early."""

    target: str
    address: str
    day: str
    policies: tuple[Source, ...]
    verdicts: tuple[Verdict, ...]
    found: tuple[Found, ...]
    clients: tuple[Outcome, ...]
    limits: tuple[str, ...]
    notes: tuple[str, ...] = ()
    incomplete: str | None = None

    def verdict(self, policy: str) -> Verdict:
        """That of a policy by its name."""
        return next(verdict for verdict in self.verdicts if verdict.policy == policy)

    def source(self, policy: str) -> Source:
        """A policy by its name."""
        return next(source for source in self.policies if source.name == policy)
