"""Finds the servers of this machine; starts and probes each for its abilities."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from tlslab.contract.probe import ProbeRecord
from tlslab.domain.errors import CannotRunError
from tlslab.domain.factors import COMMON
from tlslab.domain.levels import Levels
from tlslab.domain.names import GROUPS, SUITES
from tlslab.domain.profile import Profile
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.private import private_folder
from tlslab.lab.probing import SCHEMA
from tlslab.lab.served_key import key_name_level
from tlslab.lab.specs import tls_spec
from tlslab.servers import MANAGED, Kind, Running, Setting
from tlslab.servers.certificates import SERVER_NAME

# One key of each kind that the suites of TLS 1.2 distinguish.
KEYS = ("ecdsa-p256", "rsa-2048")
DH_BITS = "2048"

TOPICS = ("versions", "groups", "certificates", "alpn")
CONNECTIONS = 1000


@dataclass(frozen=True)
class TargetFound:
    """A kind of server on this machine: its place, program, TLS library and abilities.

    `problem` says why the server is missing or did not start, `remedy` what to do. The abilities
    were observed on a started server that was given all groups that it takes: `suites` and `groups`
    by version, `keys` of its certificates, `alpn` protocols. `takes`: the factors of a deployment
    that configure the server. `front`: it can stand in front of another server; `behind`: it can
    stand, without TLS, behind one. `unknown`: the abilities that were not observed, and why.
    """

    name: str
    takes: tuple[str, ...]
    front: bool
    behind: bool
    program: str | None = None
    software: str | None = None
    backend: str | None = None
    versions: tuple[str, ...] = ()
    suites: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    alpn: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    problem: str | None = None
    remedy: str = ""


def survey(engine: GeneratorPool, kinds: Mapping[str, Kind] = MANAGED) -> tuple[TargetFound, ...]:
    """Every kind of server that the lab can start, found or missing.

    A server that does not start, or lacks something, does not affect the others.
    """
    with ThreadPoolExecutor(max_workers=len(kinds) or 1) as each:
        return tuple(each.map(lambda kind: examine(engine, kind), kinds.values()))


def examine(engine: GeneratorPool, kind: Kind) -> TargetFound:
    """One kind of server, started in a private folder for the duration of the probe."""
    found = TargetFound(
        name=kind.name,
        takes=tuple(sorted(kind.factors & COMMON.keys())),
        front=kind.front is not None,
        behind=kind.plain,
    )
    try:
        installation = kind.find()
        if installation is None:
            return replace(found, problem="not installed", remedy=kind.remedy)
        found = replace(
            found,
            program=installation.program,
            software=installation.software,
            backend=installation.backend,
        )
        abilities = _ask(engine, kind)
    except CannotRunError as error:
        return replace(found, problem=error.message, remedy=error.remedy)
    return replace(
        found,
        versions=tuple(each.version for each in abilities.versions if each.accepted),
        suites=_suites(abilities),
        groups=_groups(abilities),
        keys=tuple(dict.fromkeys(key_name_level(c.key) for c in abilities.certificates)),
        alpn=abilities.alpn.accepted if abilities.alpn else (),
        unknown=tuple(_unknown(abilities)),
    )


def _ask(engine: GeneratorPool, kind: Kind) -> ProbeRecord:
    with private_folder() as private:
        for setting in _settings(private, kind):
            target = kind.make(setting)
            target.prepare()
            try:
                running = target.start()
            except CannotRunError:
                if len(setting.keys) == 1:
                    raise
                continue  # The server may not support a key of this setting.
            try:
                return _probe(engine, running, target.trust_pem)
            finally:
                running.stop()
    raise AssertionError("the last setting has one key")


def _settings(private: Path, kind: Kind) -> Iterator[Setting]:
    """The settings to try: first with all keys of the lab, then with fewer."""
    for keys in (KEYS, KEYS[:1]):
        folder = private / str(len(keys))
        folder.mkdir()
        yield Setting(
            folder=folder,
            keys=keys,
            groups=tuple(group.name for group in GROUPS),
            document_bytes=100,
            processors=(),
            http2=kind.http2,
            levels=Levels.of({"dh_bits": DH_BITS} if "dh_bits" in kind.factors else {}),
        )


def _probe(engine: GeneratorPool, running: Running, trust_pem: str) -> ProbeRecord:
    return engine.probe(
        {
            "schema": SCHEMA,
            "target": urlsplit(running.url).netloc,
            "server_name": SERVER_NAME,
            "trust": {"pem": trust_pem},
            "only": list(TOPICS),
            # One suite per offer: with all at once, HAProxy selects its certificate by suites that
            # it does not accept.
            "offers": [tls_spec(Profile(tls=s.tls, suites=(s.name,))) for s in SUITES],
            "limits": {"connections": CONNECTIONS},
        }
    )


def _suites(found: ProbeRecord) -> dict[str, tuple[str, ...]]:
    """The accepted suites, by version, in the lab's order."""
    taken = [s for s, offer in zip(SUITES, found.offers, strict=False) if offer.accepted]
    return {
        each.version: tuple(suite.name for suite in taken if suite.tls == each.version)
        for each in found.versions
        if each.accepted
    }


def _unknown(found: ProbeRecord) -> Iterator[str]:
    """The abilities that were not observed, and why."""
    if found.incomplete is not None:
        yield f"all else: {found.incomplete}"
    for each in found.unanswered:
        yield f"{each.question}: the server {each.refusal.words}"
    for suite, offer in zip(SUITES, found.offers, strict=False):
        if offer.accepted is None and offer.refusal is not None:
            yield f"{suite.name}: the server {offer.refusal.words}"


def _groups(found: ProbeRecord) -> dict[str, tuple[str, ...]]:
    """The accepted groups, by version, in the lab's order."""
    groups = {}
    for each in found.groups:
        accepted = {named.name for named in each.accepted}
        groups[each.version] = tuple(group.name for group in GROUPS if group.name in accepted)
    return groups
