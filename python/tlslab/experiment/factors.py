"""The factors that experiments may vary, and the allowed levels of each."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tlslab.domain.command_line import canonical, did_you_mean
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import ConditionalFactor, Experiment, Factor
from tlslab.domain.names import (
    CERTIFICATE_KEYS,
    GROUPS,
    SUITES,
    TLS_VERSIONS,
    find_group,
    find_suite,
    is_key,
)
from tlslab.domain.workload import RESUMPTIONS
from tlslab.toml_table import Table

HTTP_VERSIONS = ("1.1", "2")
CONNECTORS = ("jsse", "openssl", "openssl-ffm")
DH_BITS = ("1024", "2048", "3072", "4096")
SWITCHED = ("off", "on")

# The name of a managed target; `targets.registry` has all of them.
_TARGET = re.compile(r"[a-z][a-z0-9-]{0,31}")

# The URL of a server that the lab does not start. Levels stand between commas in a cell's key.
_URL = re.compile(r"https://[^\s,/?#]+[^\s,]{0,500}", re.IGNORECASE)

# The share of the connections that resume a session.
_PERCENT = re.compile(r"(?:100|[1-9]?[0-9])%")

# One of several equal servers.
_COPY = re.compile(r"[a-z0-9]{1,16}")

# A planted slowdown; the server itself refuses more than ten times the cost.
_BURN = re.compile(r"(?:1000|[0-9]{1,3}(?:\.[0-9]{1,2})?)%")

# The folder of a Java installation, or the lab's name for it; a comma would separate levels.
_JDK = re.compile(r"[A-Za-z0-9/._+-]{1,200}")


@dataclass(frozen=True)
class Rule:
    """The allowed levels of a factor: `known` names, and others that `accepts` takes.

    `find` returns the canonical name of an alias, None for an unknown one; `words` describe the
    allowed levels if there are no known names.
    """

    known: tuple[str, ...] = ()
    accepts: Callable[[str], bool] | None = None
    find: Callable[[str], str | None] | None = None
    words: str = ""

    @property
    def allowed(self) -> str:
        """All allowed levels, in words."""
        return ", ".join(filter(None, (*self.known, self.words)))

    def level(self, level: str) -> str | None:
        """The canonical name of the level; None if it is not allowed."""
        name = (self.find(level) if self.find else None) or level
        return name if name in self.known or (self.accepts and self.accepts(name)) else None


def count_rule(most: int) -> Rule:
    """Whole numbers from 1."""

    def accepts(level: str) -> bool:
        return bool(re.fullmatch(r"[1-9][0-9]{0,6}", level)) and int(level) <= most

    return Rule(accepts=accepts, words=f"whole numbers from 1 to {most}")


def pattern_rule(pattern: re.Pattern[str], words: str, known: tuple[str, ...] = ()) -> Rule:
    """Levels that match a pattern as a whole; `words` describe them."""
    return Rule(known, lambda level: pattern.fullmatch(level) is not None, words=words)


def _group(level: str) -> str | None:
    found = find_group(level)
    return found.name if found else None


def _suite(level: str) -> str | None:
    found = find_suite(level)
    return found.name if found else None


RULES: Mapping[str, Rule] = {
    "server": Rule(
        accepts=lambda level: bool(_TARGET.fullmatch(level) or _URL.fullmatch(level)),
        find=lambda level: canonical(level) if _URL.fullmatch(level) else None,
        words="names of targets, or https:// URLs (a comma in them is written %2C)",
    ),
    "front": pattern_rule(_TARGET, "names of targets that can stand in front", ("none",)),
    "processors": count_rule(1024),
    "workers": count_rule(1024),
    "dh_bits": Rule(DH_BITS),
    "ocsp_stapling": Rule(SWITCHED),
    "jdk": pattern_rule(_JDK, "folders of Java installations"),
    "connector": Rule(CONNECTORS),
    "document_bytes": count_rule(9_999_999),
    "tls": Rule(TLS_VERSIONS),
    "key": Rule(CERTIFICATE_KEYS, is_key),
    "group": Rule(tuple(group.name for group in GROUPS), find=_group),
    "suite": Rule(tuple(suite.name for suite in SUITES), find=_suite),
    "http": Rule(HTTP_VERSIONS),
    "resume": Rule(RESUMPTIONS),
    "resumed": pattern_rule(_PERCENT, "percentages from 0% to 100%"),
    "connections": count_rule(65_536),
    "requests": count_rule(1_000_000),
    "copy": pattern_rule(_COPY, "names of equal servers: a, b"),
    "burn": pattern_rule(_BURN, "shares from 0% to 1000%"),
}


def read_factors(root: Table, changes: Table, rules: Mapping[str, Rule]) -> tuple[Factor, ...]:
    """The factors of a file; levels in `changes` replace the file's."""
    table = root.table("factors")
    table.only(*rules)
    if not table.data:
        raise table.error(f"needs at least one factor of {', '.join(rules)}")
    changed = changes.table("factors") if "factors" in changes else table
    changed.only(*table.data)
    sources = {name: changed if name in changed else table for name in table.data}
    return tuple(Factor(name, _levels(sources[name], name, rules[name])) for name in table.data)


def _levels(table: Table, name: str, rule: Rule) -> tuple[str, ...]:
    """Levels by their canonical names, as in files; numbers may be given without quotes."""
    for level in (levels := table.levels(name)):
        if level not in rule.known and not (rule.accepts and rule.accepts(level)):
            raise table.error(
                f"unknown name '{level}'; known: {rule.allowed}",
                name,
                did_you_mean(level, rule.known),
            )
    return levels


def read_baseline(
    table: Table,
    factors: Sequence[Factor],
    all_levels: Table,
    only: Sequence[ConditionalFactor] = (),
) -> dict[str, str]:
    """A level for some of the factors, out of all levels that the file has for them."""
    table.only(*(factor.name for factor in factors))
    for name in table.data:
        allowed = (*all_levels.levels(name), *(o.otherwise for o in only if o.factor == name))
        if table.text(name) not in allowed:
            raise table.error(f"must be one of {', '.join(allowed)}", name)
    return dict(table.data)


def change_levels(
    experiment: Experiment, changes: Mapping[str, Sequence[str]], rules: Mapping[str, Rule]
) -> Experiment:
    """The experiment with other levels for some factors; see `with_levels`."""
    levels = {factor.name: factor.levels for factor in experiment.factors}
    for name, wanted in changes.items():
        if name not in rules:
            message = f"unknown factor '{name}'; known: {', '.join(rules)}"
            raise UsageError(message, did_you_mean(name, rules))
        levels[name] = tuple(dict.fromkeys(_level(name, level, rules[name]) for level in wanted))
    elsewhere = {(only.factor, only.otherwise) for only in experiment.only}
    baseline = {
        name: level if level in levels[name] or (name, level) in elsewhere else levels[name][0]
        for name, level in experiment.baseline.items()
    }
    factors = tuple(Factor(name, levels[name]) for name in rules if name in levels)
    return replace(experiment, factors=factors, baseline=baseline)


def _level(factor: str, level: str, rule: Rule) -> str:
    name = rule.level(level)
    if name is None:
        message = f"unknown {factor} '{level}'; known: {rule.allowed}"
        raise UsageError(message, did_you_mean(level, rule.known))
    return name
