"""Policies: judgements of published sources on servers' offers; data files in `policies`."""

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any

from tlslab.domain.command_line import did_you_mean
from tlslab.domain.errors import UsageError
from tlslab.domain.grading import GRADES as GRADES
from tlslab.domain.grading import GRADING as GRADING
from tlslab.domain.grading import RECOMMENDING, TOPICS, Source, Step, Topic
from tlslab.domain.grading import Grade as Grade

SCHEMA = "tlslab.policy/2"


@dataclass(frozen=True)
class Rule:
    """A policy's judgement on all names that match one of the patterns (`*`: any characters).

    `section` is the place in the source. `below` and `above` limit the rule to names with a smaller
    or a larger number: `RSA-1024`, `398 days`. `later`: changes of the grade, in chronological
    order.
    """

    names: tuple[str, ...]
    grade: Grade
    section: str
    words: str
    below: int | None = None
    above: int | None = None
    later: tuple[Step, ...] = ()

    @property
    def reason(self) -> str:
        """The rule's words, after the place in the source."""
        return f"{self.section}: {self.words}"

    def covers(self, name: str) -> bool:
        """Whether the rule covers this name."""
        if not any(fnmatchcase(name, pattern) for pattern in self.names):
            return False
        if self.below is None and self.above is None:
            return True
        size = number_in(name)
        if size is None:
            return False
        return size < self.below if self.below is not None else size > (self.above or 0)

    def on(self, day: date) -> Grade:
        """The grade on a day."""
        begun = [step.grade for step in self.later if step.since <= day.isoformat()]
        return begun[-1] if begun else self.grade


def number_in(name: str) -> int | None:
    """The first number in a name: 2048 for `RSA-2048` and for `ffdhe2048`."""
    found = re.search(r"\d+", name)
    return int(found[0]) if found else None


@dataclass(frozen=True)
class Policy:
    """One source at one date; of several rules that cover a name the first one counts.

    `http` limits the policy to one version of HTTP. `dh` forbids Diffie-Hellman moduli below a
    size, if the policy says so.
    """

    about: Source
    rules: Mapping[Topic, tuple[Rule, ...]]
    http: str | None = None
    dh: Rule | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The name that options take."""
        return self.about.name

    @property
    def title(self) -> str:
        """The name for people."""
        return self.about.title

    @property
    def date(self) -> str:
        """The date of the source."""
        return self.about.date

    @property
    def source(self) -> str:
        """The location of the source."""
        return self.about.source

    def of(self, topic: Topic, name: str) -> Rule | None:
        """The rule for an item; None if the policy does not cover it."""
        if topic == "group" and self.dh is not None and self.dh.covers(name):
            return self.dh
        return next((rule for rule in self.rules[topic] if rule.covers(name)), None)


@cache
def policies() -> tuple[Policy, ...]:
    """The policies for recommending settings."""
    return tuple(read_policy(policy_data(name)) for name in RECOMMENDING)


@cache
def all_policies() -> tuple[Policy, ...]:
    """The policies for grading servers."""
    return tuple(read_policy(policy_data(name)) for name in GRADING)


def policy_named(name: str) -> Policy:
    """The policy with this name, from all policies. Raises UsageError."""
    found = next((policy for policy in all_policies() if policy.name == name), None)
    if found is None:
        meant = f"{did_you_mean(name, GRADING)} known: {', '.join(GRADING)}".lstrip()
        raise UsageError(f"unknown policy '{name}'", meant)
    return found


def policy_data(name: str) -> dict[str, Any]:
    """The content of a policy's data file."""
    file = resources.files("tlslab") / "advice" / "policies" / f"{name}.toml"
    return tomllib.loads(file.read_text("utf-8"))


def digest(data: Mapping[str, Any]) -> str:
    """SHA-256 of a data file's content, including its dates, without the hash itself."""
    said = {key: value for key, value in data.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def policies_named(names: Sequence[str]) -> tuple[Policy, ...]:
    """The policies with these names, in the order of `policies`; all if none is named.

    Raises UsageError.
    """
    known = [policy.name for policy in policies()]
    for name in names:
        if name not in known:
            meant = f"{did_you_mean(name, known)} known: {', '.join(known)}".lstrip()
            raise UsageError(f"unknown policy '{name}'", meant)
    return tuple(policy for policy in policies() if not names or policy.name in names)


def read_policy(data: Mapping[str, Any]) -> Policy:
    """A policy from its data file's content. Raises ValueError if it is not a policy."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"a policy's schema must be {SCHEMA}")
    limit = data.get("dh")
    dh = None
    if limit is not None:
        least = limit["least_bits"]
        dh = Rule(("DH-*", "ffdhe*"), "forbidden", limit["section"], limit["reason"], below=least)
    about = Source(
        name=data["name"],
        title=data["title"],
        short=data["short"],
        date=data["date"],
        as_of=data["as_of"],
        basis=data["basis"],
        source=data["source"],
        whom=data["for"],
        everyone=data.get("everyone", False),
        successor=data.get("successor"),
    )
    rules = {topic: tuple(_rule(table) for table in data.get(topic, ())) for topic in TOPICS}
    return Policy(about, rules, data.get("http"), dh)


def _rule(table: Mapping[str, Any]) -> Rule:
    steps = [Step(step["from"], step["grade"]) for step in table.get("later", ())]
    _refuse_unknown([table["grade"], *(step.grade for step in steps)])
    return Rule(
        names=tuple(table["names"]),
        grade=table["grade"],
        section=table["section"],
        words=table["reason"],
        below=table.get("below"),
        above=table.get("above"),
        later=tuple(steps),
    )


def _refuse_unknown(grades: Sequence[str]) -> None:
    for grade in grades:
        if grade not in GRADES:
            raise ValueError(f"unknown grade '{grade}'; known: {', '.join(GRADES)}")
