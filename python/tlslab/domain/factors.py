"""The factors of experiments: everything that the lab knows of a factor is its row in `FACTORS`.

Experiment files, plans, servers, labels, questions and reports read the row. A kind of experiment
without a server has rows of its own, beside its files (`experiment.benchmark`).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tlslab.domain.command_line import canonical, short
from tlslab.domain.configuration import BASELINE, CANDIDATE
from tlslab.domain.deployment import NO_FRONT, front_level
from tlslab.domain.levels import OFF, ON, Levels
from tlslab.domain.names import (
    CERTIFICATE_KEYS,
    GROUPS,
    NO_TLS,
    SUITES,
    TLS_VERSIONS,
    find_group,
    find_suite,
    is_key,
)
from tlslab.domain.profile import Profile

RESUMPTIONS = ("none", "id", "ticket", "psk", "psk-only")

# The only TLS version for each way of resumption.
RESUMES_BY = {"id": "1.2", "ticket": "1.2", "psk": "1.3", "psk-only": "1.3"}

# The engine accepts shorter Diffie-Hellman parameters only with `allow_obsolete`.
SAFE_DH_BITS = 2048

# How levels of `dh_bits` end whose prime was searched at random and is no standard group's.
GENERATED = "-generated"


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


def pattern_rule(pattern: str, words: str, known: tuple[str, ...] = ()) -> Rule:
    """Levels that match a pattern as a whole; `words` describe them."""
    return Rule(known, lambda level: re.fullmatch(pattern, level) is not None, words=words)


@dataclass(frozen=True)
class Combination:
    """A combination of levels, as the exclusions of factors see it.

    `profile` also has what the experiment pins; `all_resume`: every connection resumes a session.
    """

    factors: Mapping[str, str]
    profile: Profile
    all_resume: bool


@dataclass(frozen=True)
class FactorRow:
    """A factor.

    In experiment files:
    - `rule`: the allowed levels, in their order; `value`: what a level stands for in JSON.
    - `absent`: the level of cells to which the factor does not apply; labels omit it.
    - `excludes`: the reason that no handshake has this combination; None if one has.
    - `of_tls`: HTTP in the clear does not have it. It has a certificate key, which it does not use:
      keys and versions can be varied together.
    - `costed`: the cost model (kind `costs`) covers the factor; `of_proofs`: only proofs vary it.

    Where it takes effect:
    - `side`: `client`: in the offer or the load; one server serves all its levels. `server`: a
      setting of servers, which `servers.registry` lists for each; its name is the key by which
      server and template read it. `lab`: arranged by the lab around any server.
    - `off`: the level that is a server's state without the factor.
    - `load`: the field of `Workload` that the level replaces.
    - `tls`: the level's part of the engine's specification, below `tls`.
    - `own_servers`: it cannot be varied at the server of a URL.
    - `at_tls_end`: only the server that terminates TLS takes it. `lacks`: what servers without the
      factor do, as a predicate.

    In words:
    - `label`: a level in readers' terms; `heading`: the factor over a column or an axis;
      `noun`: what is compared: "Which NOUN is fastest here?".
    """

    name: str
    rule: Rule
    side: Literal["client", "server", "lab"] = "client"
    value: Callable[[str], Any] = str
    absent: str = ""
    off: str = ""
    excludes: Callable[[Combination], str | None] | None = None
    of_tls: bool = False
    costed: bool = False
    of_proofs: bool = False
    load: str = ""
    tls: Callable[[str], Mapping[str, Any]] | None = None
    own_servers: bool = False
    at_tls_end: bool = False
    lacks: str = ""
    label: Callable[[str], str] = str
    heading: str = ""
    noun: str = ""


def _group(level: str) -> str | None:
    group = find_group(level)
    return group.name if group else None


def _suite(level: str) -> str | None:
    suite = find_suite(level)
    return suite.name if suite else None


def _share(level: str) -> float:
    return int(level.rstrip("%")) / 100


def _is_on(level: str) -> bool:
    return level == ON


def _label(form: str, **others: str) -> Callable[[str], str]:
    """The label of a level in a form; of `others` by themselves."""
    return lambda level: others.get(level) or form.format(level)


def _counted(what: str) -> Callable[[str], str]:
    return lambda level: f"{level} {what}" if level == "1" else f"{level} {what}s"


def _front_label(level: str) -> str:
    front = front_level(level)
    if front is None:
        return "direct"
    servers = "" if front.servers == 1 else f"{front.servers} servers "
    return f"{servers}behind {front.target}" + (", TLS passed through" if front.passes_tls else "")


def _key_label(level: str) -> str:
    name = level.replace("ecdsa-p", "ECDSA P-").replace("rsa-", "RSA-")
    return "Ed25519" if level == "ed25519" else name


def dh_size(level: str) -> int | None:
    """The bits of Diffie-Hellman parameters, by the level of `dh_bits`; None without any."""
    digits = level.removesuffix(GENERATED)
    return int(digits) if digits.isdigit() else None


def _dh_spec(level: str) -> Mapping[str, Any]:
    # A short modulus is measured on purpose; no other obsolete parameter is offered with it.
    bits = dh_size(level) or 0
    return {"dh_bits": bits, "allow_obsolete": bits < SAFE_DH_BITS}


def _dh_label(level: str) -> str:
    size = dh_size(level)
    return "no DH" if size is None else f"DH {size}{', generated' * level.endswith(GENERATED)}"


def _without_tls_against(cell: Combination) -> str | None:
    """The reason that HTTP in the clear does not have this combination."""
    if cell.profile.tls != NO_TLS:
        return None
    if cell.factors.get("front", "none") != "none":
        return "without TLS there is nothing to end in front of the server"
    if cell.factors.get("resume", "none") != "none" or cell.factors.get("resumed", "0%") != "0%":
        return "without TLS there is no session to resume"
    rows = (FACTORS[name] for name in cell.factors if name in FACTORS)
    named = next((r for r in rows if r.of_tls and cell.factors[r.name] != r.absent), None)
    return None if named is None else f"without TLS there is no {named.noun}"


def _group_against(cell: Combination) -> str | None:
    for name in cell.profile.groups:
        group = find_group(name)
        if group is not None and group.tls13_only and cell.profile.tls == "1.2":
            return f"the group {name} exists in TLS 1.3 only"
    return None


def _suite_against(cell: Combination) -> str | None:
    """The reason that a suite does not fit version, certificate key or groups."""
    profile = cell.profile
    for name in profile.suites:
        suite = find_suite(name)
        if suite is None:
            continue
        if profile.tls is not None and suite.tls != profile.tls:
            return f"the suite {name} belongs to TLS {suite.tls}"
        if "_WITH_" not in name:
            continue
        if profile.key is not None and ("_ECDSA_" in name) == profile.key.startswith("rsa-"):
            needed = "an ECDSA" if "_ECDSA_" in name else "an RSA"
            return f"the suite {name} needs {needed} certificate"
        if profile.groups and "_ECDHE_" not in name:
            return f"the suite {name} exchanges keys without an elliptic curve"
    return None


def _resumption_against(cell: Combination) -> str | None:
    way = cell.factors.get("resume", "none")
    version = RESUMES_BY.get(way)
    if version is None or cell.factors.get("tls", version) == version:
        return None
    return f"resumption by {way} belongs to TLS {version}"


def _stapling_against(cell: Combination) -> str | None:
    if cell.factors.get("ocsp_stapling") != ON or not cell.all_resume:
        return None
    return "a resumed handshake has no certificate to which a response could be stapled"


_TARGET = r"[a-z][a-z0-9-]{0,31}"

# The URL of a server that the lab does not start. Levels stand between commas in a cell's key.
_URL = re.compile(r"https://[^\s,/?#]+[^\s,]{0,500}", re.IGNORECASE)

# The order of the rows is that of the factors in the key of a cell and in tables.
_ROWS = (
    FactorRow(
        "server",
        Rule(
            # `servers.registry` has the names of all targets.
            accepts=lambda level: bool(re.fullmatch(_TARGET, level) or _URL.fullmatch(level)),
            find=lambda level: canonical(level) if _URL.fullmatch(level) else None,
            words="names of targets, or https:// URLs (a comma in them is written %2C)",
        ),
        side="lab",
        label=short,
        noun="server",
    ),
    FactorRow(
        "front",
        Rule(
            (NO_FRONT,),
            lambda level: front_level(level) is not None,
            words="targets that can stand in front: NAME, NAME-tcp to pass TLS through, NAME:2 "
            "before two servers",
        ),
        side="lab",
        off="none",
        own_servers=True,
        label=_front_label,
        noun="server in front",
    ),
    FactorRow(
        "processors",
        count_rule(1024),
        side="lab",
        value=int,
        own_servers=True,
        label=_counted("processor"),
        noun="processor count",
    ),
    FactorRow(
        "workers",
        count_rule(1024),
        side="server",
        value=int,
        own_servers=True,
        label=_counted("worker"),
        noun="worker count",
    ),
    FactorRow(
        "dh_bits",
        Rule(tuple(f"{bits}{how}" for how in ("", GENERATED) for bits in (1024, 2048, 3072, 4096))),
        side="server",
        of_tls=True,
        value=lambda level: int(level) if level.isdigit() else level,
        absent="none",
        tls=_dh_spec,
        label=_dh_label,
        heading="DH parameters",
        noun="DH size",
    ),
    FactorRow(
        "ocsp_stapling",
        Rule((OFF, ON)),
        side="server",
        of_tls=True,
        value=_is_on,
        off=OFF,
        excludes=_stapling_against,
        tls=lambda level: {"ocsp_stapling": _is_on(level)},
        at_tls_end=True,
        lacks="staples no OCSP response from a file",
        label=_label("{}", off="no OCSP stapling", on="OCSP stapling"),
        heading="OCSP stapling",
        noun="stapling setting",
    ),
    FactorRow(
        "jdk",
        # A comma would separate levels.
        pattern_rule(r"[A-Za-z0-9/._+-]{1,200}", "folders of Java installations"),
        side="server",
        own_servers=True,
        label=lambda level: level.rstrip("/").rpartition("/")[2],
        heading="JDK",
        noun="Java runtime",
    ),
    FactorRow(
        "connector", Rule(("jsse", "openssl", "openssl-ffm")), side="server", own_servers=True
    ),
    FactorRow(
        "document_bytes",
        count_rule(9_999_999),
        side="lab",
        value=int,
        costed=True,
        label=lambda level: f"{int(level):,} B" if level.isdigit() else level,
        heading="document",
        noun="document size",
    ),
    FactorRow(
        "tls",
        Rule((NO_TLS, *TLS_VERSIONS)),
        excludes=_without_tls_against,
        costed=True,
        label=_label("TLS {}", none="no TLS", ssl3="SSL 3.0"),
        heading="TLS",
        noun="TLS version",
    ),
    FactorRow(
        "key",
        Rule(CERTIFICATE_KEYS, is_key),
        costed=True,
        label=_key_label,
        heading="certificate key",
        noun="certificate key",
    ),
    FactorRow(
        "group",
        Rule(tuple(group.name for group in GROUPS), find=_group),
        excludes=_group_against,
        of_tls=True,
        costed=True,
        noun="key-exchange group",
    ),
    FactorRow(
        "suite",
        Rule(tuple(suite.name for suite in SUITES), find=_suite),
        absent="by-version",
        excludes=_suite_against,
        of_tls=True,
        costed=True,
        heading="cipher suite",
        noun="cipher suite",
    ),
    FactorRow(
        "http",
        Rule(("1.1", "2")),
        load="http",
        label=_label("HTTP/{}"),
        heading="HTTP",
        noun="HTTP version",
    ),
    FactorRow(
        "resume",
        Rule(RESUMPTIONS),
        excludes=_resumption_against,
        label=_label("resumption by {}", none="no resumption"),
        noun="resumption mode",
    ),
    FactorRow(
        "resumed",
        pattern_rule(r"(?:100|[1-9]?[0-9])%", "percentages from 0% to 100%"),
        value=_share,
        costed=True,
        load="resume_ratio",
        label=lambda level: f"{level.removesuffix('%')} % resumed",
        noun="share of resumed connections",
    ),
    FactorRow(
        "connections",
        count_rule(65_536),
        value=int,
        load="connections",
        label=_counted("connection"),
        noun="number of connections",
    ),
    FactorRow(
        "requests",
        count_rule(1_000_000),
        value=int,
        costed=True,
        load="requests_per_connection",
        label=_counted("request"),
        noun="number of requests",
    ),
    # One of several equal servers, for comparisons of a server with itself.
    FactorRow(
        "copy",
        pattern_rule(r"[a-z0-9]{1,16}", "names of equal servers: a, b"),
        side="lab",
        own_servers=True,
        label=_label("copy {}"),
    ),
    # A planted slowdown: each new connection wastes this share of its cost. The server itself
    # refuses more than ten times the cost.
    FactorRow(
        "burn",
        pattern_rule(r"(?:1000|[0-9]{1,3}(?:\.[0-9]{1,2})?)%", "shares from 0% to 1000%"),
        side="server",
        own_servers=True,
        label=_label("burn {}"),
    ),
    # The TLS configuration of a proof, which replaces the lab's own.
    FactorRow("configuration", Rule((BASELINE, CANDIDATE)), side="server", of_proofs=True),
)

FACTORS: Mapping[str, FactorRow] = {row.name: row for row in _ROWS}

# Those of all experiments with servers.
COMMON = {name: row for name, row in FACTORS.items() if not row.of_proofs}

# Those whose levels a deployment carries; it has fields for server and front.
DEPLOYED = {
    name: row
    for name, row in FACTORS.items()
    if row.side != "client" and name not in ("server", "front")
}

# Those whose levels a profile carries.
OFFERED = {name: row for name, row in FACTORS.items() if row.tls is not None}


def levels_of(rows: Mapping[str, FactorRow], factors: Mapping[str, str]) -> Levels:
    """The levels of these factors that apply to a cell.

    Others (`none`) stand for a factor that does not. A deployment has no level `off`: it is the
    same server as without the factor.
    """
    return Levels.of(
        {
            name: factors[name]
            for name, row in rows.items()
            if name in factors
            and row.rule.level(factors[name]) is not None
            and not (rows is DEPLOYED and factors[name] == row.off)
        }
    )


def values_of(rows: Mapping[str, FactorRow], levels: Levels) -> dict[str, Any]:
    """What the levels of these factors stand for in JSON; None for factors that do not apply."""
    given = {
        name: levels.get(name) or (row.off if rows is DEPLOYED else "")
        for name, row in rows.items()
    }
    return {name: rows[name].value(level) if level else None for name, level in given.items()}


def level_of(value: Any) -> str:
    """The level that stands for a value in JSON."""
    return (OFF, ON)[value] if isinstance(value, bool) else str(value)
