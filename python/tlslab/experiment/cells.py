"""The cells of an experiment, and the excluded combinations, each with its reason."""

from collections.abc import Iterable, Iterator, Mapping

from tlslab.domain.deployment import NO_FRONT, Deployment
from tlslab.domain.experiment import Experiment, Pin, matches
from tlslab.domain.names import find_group, find_suite
from tlslab.domain.plan import Cell, Excluded
from tlslab.domain.profile import Profile
from tlslab.domain.workload import RESUMES_BY, resumption

Factors = Mapping[str, str]

_SWITCHED = {"on": True, "off": False}


def make_cells(
    experiment: Experiment, server: str = "reference"
) -> tuple[tuple[Cell, ...], tuple[Excluded, ...]]:
    """All combinations of levels, the first factor varying slowest: cells and exclusions.

    `server` is the server of all cells if the experiment has no such factor.
    """
    cells: list[Cell] = []
    excluded: list[Excluded] = []
    for factors in _combinations(experiment):
        profile = make_profile(experiment, factors)
        reason = (
            _exclusion(experiment, factors)
            or contradiction(profile)
            or _resumption_against(factors)
            or _stapling_against(experiment, factors)
        )
        if reason is None:
            deployment = make_deployment(experiment, factors, server)
            cells.append(Cell(cell_key(factors), factors, profile, deployment))
        else:
            excluded.append(Excluded(factors, reason))
    return tuple(cells), tuple(excluded)


def cell_key(factors: Factors) -> str:
    """A cell's key: `tls=1.3,key=ecdsa-p256,group=X25519`."""
    return ",".join(f"{name}={level}" for name, level in factors.items())


def _combinations(experiment: Experiment) -> Iterator[Factors]:
    """Every combination once; a factor that does not apply has a level of its own."""
    seen = set()
    for factors in experiment.combinations():
        if (key := cell_key(factors)) not in seen:
            seen.add(key)
            yield factors


def _exclusion(experiment: Experiment, factors: Factors) -> str | None:
    for exclusion in experiment.exclusions:
        if matches(exclusion.when, factors):
            return exclusion.reason
    return None


def make_profile(experiment: Experiment, factors: Factors) -> Profile:
    """The settings that a cell forces: its own levels, and the additions of the experiment's pins.

    A level of the factors `suite`, `group` and `key` replaces the pinned one; the suite
    `by-version` is none and leaves the choice to the pins.
    """
    pins = [pin for pin in experiment.pins if matches(pin.when, factors)]
    group = factors.get("group")
    return Profile(
        tls=factors.get("tls"),
        key=factors.get("key") or _first(pin.key for pin in pins),
        groups=_joined(pins, "groups") if group is None else (group,),
        suites=experiment.suites(factors),
        signature_schemes=_joined(pins, "signature_schemes"),
        dh_bits=_number(factors, "dh_bits"),
        backend=_first(pin.backend for pin in pins),
        ocsp_stapling=_SWITCHED.get(factors.get("ocsp_stapling", "")),
    )


def _first(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value is not None), None)


def make_deployment(experiment: Experiment, factors: Factors, server: str) -> Deployment:
    """The server-side requirements of a cell."""
    return Deployment(
        server=factors.get("server", server),
        front=factors.get("front", NO_FRONT),
        processors=_number(factors, "processors"),
        workers=_number(factors, "workers"),
        dh_bits=_number(factors, "dh_bits"),
        jdk=factors.get("jdk"),
        connector=factors.get("connector"),
        burn=factors.get("burn"),
        copy=factors.get("copy"),
        ocsp_stapling=factors.get("ocsp_stapling") == "on",
        configuration=factors.get("configuration"),
        resume=resumption(factors, experiment.workload.resume),
        document_bytes=_number(factors, "document_bytes"),
    )


def _number(factors: Factors, name: str) -> int | None:
    """A level as a number; None if the factor does not apply to the cell."""
    level = factors.get(name, "")
    return int(level) if level.isdigit() else None


def _resumption_against(factors: Factors) -> str | None:
    """The reason that a TLS version does not resume in the way that the factor `resume` names."""
    version = RESUMES_BY.get(factors.get("resume", "none"))
    if version is None or factors.get("tls", version) == version:
        return None
    return f"resumption by {factors['resume']} belongs to TLS {version}"


def _stapling_against(experiment: Experiment, factors: Factors) -> str | None:
    """The reason that no response can be stapled: all connections of the cell resume a session."""
    workload = experiment.workload.of(factors)
    all_resume = workload.resume != "none" and workload.resume_ratio == 1
    if factors.get("ocsp_stapling") != "on" or not all_resume:
        return None
    return "a resumed handshake has no certificate to which a response could be stapled"


def _joined(pins: list[Pin], field: str) -> tuple[str, ...]:
    """The names of one field over several pins, each once, in their order."""
    return tuple(dict.fromkeys(name for pin in pins for name in getattr(pin, field)))


def contradiction(profile: Profile) -> str | None:
    """The reason that TLS itself has no such handshake; None if it has."""
    for name in profile.suites:
        suite = find_suite(name)
        if suite is None:
            continue
        if profile.tls is not None and suite.tls != profile.tls:
            return f"the suite {name} belongs to TLS {suite.tls}"
        if reason := _suite_against(profile, name):
            return reason
    for name in profile.groups:
        group = find_group(name)
        if group is not None and group.tls13_only and profile.tls == "1.2":
            return f"the group {name} exists in TLS 1.3 only"
    return None


def _suite_against(profile: Profile, suite: str) -> str | None:
    """The reason that a TLS 1.2 suite does not fit the profile's certificate key or groups."""
    if "_WITH_" not in suite:
        return None
    if profile.key is not None:
        needs_ecdsa = "_ECDSA_" in suite
        is_rsa = profile.key.startswith("rsa-")
        if needs_ecdsa == is_rsa:
            needed = "an ECDSA" if needs_ecdsa else "an RSA"
            return f"the suite {suite} needs {needed} certificate"
    if profile.groups and "_ECDHE_" not in suite:
        return f"the suite {suite} exchanges keys without an elliptic curve"
    return None
