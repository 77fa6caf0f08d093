"""Policies: what published sources say of suites and groups; dated data files in `policies`."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

from tlslab.model.errors import UsageError
from tlslab.model.suggest import did_you_mean

SCHEMA = "tlslab.policy/1"

# From the best to the worst.
Grade = Literal["recommended", "acceptable", "discouraged", "forbidden"]
GRADES: tuple[Grade, ...] = get_args(Grade)

# The order in which a table shows them.
SHIPPED = ("rfc9325", "rfc10015", "mozilla-intermediate", "iana", "rfc9113")


@dataclass(frozen=True)
class Rule:
    """What a policy says of all names that match one of the patterns (`*`: any characters)."""

    names: tuple[str, ...]
    grade: Grade
    reason: str

    def covers(self, name: str) -> bool:
        """Whether the rule speaks of this name."""
        return any(fnmatchcase(name, pattern) for pattern in self.names)


@dataclass(frozen=True)
class Policy:
    """One source at one date; of several rules that cover a name the first one counts.

    `http` limits it to one version of HTTP. `least_dh_bits` is the smallest Diffie-Hellman modulus
    that it allows, where it says so.
    """

    name: str
    title: str
    date: str
    source: str
    suites: tuple[Rule, ...]
    groups: tuple[Rule, ...]
    http: str | None = None
    least_dh_bits: int | None = None
    dh_reason: str = ""

    def of_suite(self, name: str) -> Rule | None:
        """What it says of a suite; None when it says nothing."""
        return _first(self.suites, name)

    def of_group(self, name: str) -> Rule | None:
        """What it says of a key-exchange group; None when it says nothing."""
        return _first(self.groups, name)


def _first(rules: Sequence[Rule], name: str) -> Rule | None:
    return next((rule for rule in rules if rule.covers(name)), None)


@cache
def policies() -> tuple[Policy, ...]:
    """All policies that come with tlslab."""
    folder = resources.files("tlslab") / "advice" / "policies"
    return tuple(
        read_policy(tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))) for name in SHIPPED
    )


def policies_named(names: Sequence[str]) -> tuple[Policy, ...]:
    """Those of these names, in the order of `policies`; all for none. Raises UsageError."""
    known = [policy.name for policy in policies()]
    for name in names:
        if name not in known:
            meant = f"{did_you_mean(name, known)} known: {', '.join(known)}".lstrip()
            raise UsageError(f"unknown policy '{name}'", meant)
    return tuple(policy for policy in policies() if not names or policy.name in names)


def read_policy(data: Mapping[str, Any]) -> Policy:
    """A policy from its data file's content. Raises ValueError when it is none."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"a policy's schema must be {SCHEMA}")
    limit = data.get("dh", {})
    return Policy(
        name=data["name"],
        title=data["title"],
        date=data["date"],
        source=data["source"],
        suites=tuple(_rule(table) for table in data.get("suite", ())),
        groups=tuple(_rule(table) for table in data.get("group", ())),
        http=data.get("http"),
        least_dh_bits=limit.get("least_bits"),
        dh_reason=limit.get("reason", ""),
    )


def _rule(table: Mapping[str, Any]) -> Rule:
    if table["grade"] not in GRADES:
        raise ValueError(f"unknown grade '{table['grade']}'; known: {', '.join(GRADES)}")
    return Rule(tuple(table["names"]), table["grade"], table["reason"])
