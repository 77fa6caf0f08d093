"""Discovery of servers that the lab did not start, by single verified connections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from tlslab.contract.record import Preflight
from tlslab.domain.command_line import short
from tlslab.domain.errors import EngineError
from tlslab.domain.experiment import Experiment, Factor, Pin
from tlslab.domain.names import ECDSA_SCHEMES, RSA_SCHEMES
from tlslab.domain.profile import Profile
from tlslab.domain.run import TargetInfo
from tlslab.domain.workload import Workload, resumption_in
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.served_key import key_level
from tlslab.lab.specs import Aim, preflight_spec
from tlslab.lab.trial import UNSUPPORTED_PREFIXES

# The kinds of certificates that a server may choose from, by their schemes. The last one leaves the
# choice to the server: keys of other kinds, such as Ed448.
FAMILIES = (ECDSA_SCHEMES, RSA_SCHEMES, ())

# Offers for a server that does not take the usual one: with a key share that leaves the ClientHello
# in one segment, if something on the way reads no more.
ONE_SEGMENT = (Profile(groups=("X25519",)), Profile(groups=("P-256",)))
BROKEN_OFF = ("reset", "closed_handshake", "timeout_handshake")


@dataclass(frozen=True)
class DiscoveredServer:
    """A server that the lab did not start: its description, and the levels that it lacks."""

    info: TargetInfo
    unavailable: Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Discovered:
    """The servers of a run, in the order of their aims, and the experiment fitted to them."""

    servers: tuple[DiscoveredServer, ...]
    experiment: Experiment


def discover(
    engine: GeneratorPool,
    aims: Sequence[Aim],
    experiment: Experiment,
    configured: frozenset[str] = frozenset(),
    spare_versions: tuple[str, ...] = (),
) -> Discovered:
    """Finds the versions and certificate kinds of each server.

    The levels of the factor `key` become those served: a server with an ECDSA P-384 certificate is
    measured with `ecdsa-p384`, whatever the experiment says. If no server has a level of the factor
    `tls`, those of `spare_versions` take their place. A command configures the server for the
    factors `configured`: what it lacks of these now says nothing. What every handshake with a
    server needs, such as a TLS library, becomes a pin. Raises EngineError if a server cannot be
    reached, does not pass verification, or answers with an error.
    """
    levels = {factor.name: factor.levels for factor in experiment.factors}
    versions = levels.get("tls", ())
    seen = [_look(engine, aim, experiment, versions) for aim in aims]
    if spare_versions and all(set(each.versions) == set(versions) for each in seen):
        spare = [_look(engine, aim, experiment, spare_versions) for aim in aims]
        if not all(set(each.versions) == set(spare_versions) for each in spare):
            seen = spare
            experiment = _with_first(experiment, "tls", spare_versions)
    if not versions:
        # Left to the servers, as is how they resume.
        way = resumption_in(seen[0].tls, experiment.workload.resume)
        experiment = replace(experiment, workload=replace(experiment.workload, resume=way))
    # A run that is resumed has them already.
    pins = (pin for pin in _pins(seen) if pin not in experiment.pins)
    experiment = replace(experiment, pins=(*experiment.pins, *pins))
    served = tuple(dict.fromkeys(key for each in seen for key in each.keys))
    if "key" in levels and "key" not in configured:
        others = tuple(level for level in levels["key"] if level not in served)
        experiment = _with_first(experiment, "key", served + others)
    keys = experiment.levels("key")
    servers = []
    for each in seen:
        name = "the server" if len(seen) == 1 else short(each.info.name)
        unavailable = {
            ("tls", version): f"{name} has no TLS {version}: {why}"
            for version, why in each.versions.items()
        }
        unavailable |= {
            ("key", level): f"{name} serves {', '.join(each.keys)}, not {level}"
            for level in keys
            if level not in each.keys
        }
        kept = {key: why for key, why in unavailable.items() if key[0] not in configured}
        servers.append(DiscoveredServer(each.info, kept))
    return Discovered(tuple(servers), experiment)


@dataclass(frozen=True)
class _Seen:
    """A server: its description, the keys of its certificates, the versions that it lacks.

    `needs`: the part of the offer without which it takes none. `tls`: the version that it chooses.
    """

    info: TargetInfo
    tls: str
    keys: tuple[str, ...]
    versions: Mapping[str, str]
    needs: Profile


def _look(
    engine: GeneratorPool, aim: Aim, experiment: Experiment, versions: tuple[str, ...]
) -> _Seen:
    workload = experiment.workload
    try:
        first, needs = _first(engine, aim, workload)
        missing: dict[str, str] = {}
        found = _served(engine, aim, workload, versions, missing, needs)
    except EngineError as error:
        raise with_status_remedy(error) from None
    keys = tuple(dict.fromkeys(found)) or (key_level(first),)
    return _Seen(_info(aim, first), first.facts.tls, keys, missing, needs)


def _first(engine: GeneratorPool, aim: Aim, workload: Workload) -> tuple[Preflight, Profile]:
    """A first connection, and what its offer needs. Raises EngineError."""
    try:
        found, backend = engine.preflight(preflight_spec(aim, Profile(), workload.http))
    except EngineError as error:
        if not error.class_.startswith(BROKEN_OFF):
            raise
        for offer in ONE_SEGMENT:
            try:
                return engine.preflight(preflight_spec(aim, offer, workload.http))[0], offer
            except EngineError as other:
                if not other.class_.startswith((*UNSUPPORTED_PREFIXES, *BROKEN_OFF)):
                    raise
        raise
    # The usual offer needs OpenSSL only if rustls lacks the server's kind of key.
    return found, Profile(backend="openssl" if backend == "openssl" else None)


def _pins(seen: Sequence[_Seen]) -> tuple[Pin, ...]:
    """What the servers need, for all cells, so that they stay comparable."""
    needs = dict.fromkeys(each.needs for each in seen if each.needs != Profile())
    return tuple(Pin({}, groups=each.groups, backend=each.backend) for each in needs)


def with_status_remedy(error: EngineError) -> EngineError:
    """The error with a remedy for the server's status."""
    status = error.status
    if status is None:
        return error
    ask = f"--expect-status {status} measures this answer"
    if 300 <= status < 400:
        remedy = f"it redirects: give the URL that it leads to, or {ask}"
    elif status in (400, 495, 496):
        remedy = (
            "if the server asks for a client certificate (`tlslab probe HOST` shows that), load it "
            f"with `tlslab load --client-cert`; or {ask}"
        )
    elif status in (401, 403):
        remedy = f"it asks for a login: give a page that needs none, or {ask}"
    else:
        remedy = f"give the path of a page that is there, or {ask}"
    return EngineError(error.class_, error.message, remedy, status)


def _served(
    engine: GeneratorPool,
    aim: Aim,
    workload: Workload,
    versions: tuple[str, ...],
    missing: dict[str, str],
    needs: Profile,
) -> list[str]:
    """The certificate keys served in any version.

    Versions without a certificate are put into `missing`, with the server's words.
    """
    served: list[str] = []
    for version in versions:
        keys: list[str] = []
        words = ""
        for schemes in FAMILIES:
            if keys and not schemes:
                continue
            profile = replace(needs, tls=version, signature_schemes=schemes)
            try:
                preflight, _ = engine.preflight(preflight_spec(aim, profile, workload.http))
                keys.append(key_level(preflight))
            except EngineError as error:
                if not error.class_.startswith(UNSUPPORTED_PREFIXES):
                    raise
                words = error.message
        if not keys:
            missing[version] = words
        served += keys
    return served


def _with_first(experiment: Experiment, name: str, levels: tuple[str, ...]) -> Experiment:
    """The experiment with these levels of a factor; the baseline's is the first if it is none."""
    factors = tuple(
        Factor(name, levels) if factor.name == name else factor for factor in experiment.factors
    )
    baseline = dict(experiment.baseline)
    if baseline.get(name, levels[0]) not in levels:
        baseline[name] = levels[0]
    return replace(experiment, factors=factors, baseline=baseline)


def _info(aim: Aim, preflight: Preflight) -> TargetInfo:
    parts = urlsplit(aim.url)
    path = parts.path or "/"
    return TargetInfo(
        name=aim.url,
        managed=False,
        software=preflight.server or "unknown",
        backend="unknown",
        processors=(),
        host=parts.hostname or "",
        path=f"{path}?{parts.query}" if parts.query else path,
    )
