"""The engine's run specification (schema/spec.json) for a cell."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tlslab.domain.capacity import Step
from tlslab.domain.factors import FACTORS
from tlslab.domain.names import NO_TLS, OBSOLETE_KEYS, OBSOLETE_SUITES, OBSOLETE_TLS_VERSIONS
from tlslab.domain.profile import Profile
from tlslab.domain.trial import RunKind
from tlslab.domain.workload import EXPECTED_STATUS, Window, Workload

SCHEMA = "tlslab.spec/1"


@dataclass(frozen=True)
class Aim:
    """The engine's destination and its trusted authorities.

    `trust` is `system`, `anyone` or a text in PEM; `server_name` overrides the URL's host for SNI
    and the certificate check; `allow` lists hosts beside loopback ones that the user has allowed;
    `proof` is the token by which a public host shows that its operator permits the load.
    `realtime`: open loops run with real-time priority on the generator's processors.
    `expect_status` is the status that a response must have.
    """

    url: str
    trust: str = "system"
    server_name: str | None = None
    allow: tuple[str, ...] = ()
    processors: tuple[int, ...] = ()
    realtime: bool = False
    expect_status: str = EXPECTED_STATUS
    proof: str | None = None


def run_spec(aim: Aim, profile: Profile, workload: Workload, kind: RunKind) -> dict[str, Any]:
    """The specification of one of a trial's runs.

    `capacity` has the lean client (sampled authentication, one key share). `client_cost` and
    `keep_alive`, which keeps its connections open, have the library client, because they measure
    the costs of an ordinary client.
    """
    if kind == "keep_alive":
        return _keep_alive_spec(aim, profile, workload)
    lean = kind == "capacity"
    window = workload.capacity if lean else workload.client_cost
    requests = {"count": workload.requests_per_connection}
    spec = _load_spec(aim, profile, workload.http, window, workload.connections, requests)
    spec["http"] |= {"streams": workload.streams}
    full = {"authenticate": "every", "key_share": "fresh", "client": "library"}
    spec["tls"] |= _lean(profile) if lean else full
    spec["tls"] |= _resuming(workload.resume, workload.resume_ratio)
    return spec


def step_spec(aim: Aim, profile: Profile, workload: Workload, step: Step) -> dict[str, Any]:
    """The specification of a step of a capacity experiment, with the lean client."""
    requests = {"count": step.requests_per_connection or workload.requests_per_connection}
    spec = _load_spec(aim, profile, workload.http, step.window, step.connections, requests)
    spec["http"] |= {"streams": workload.streams}
    spec["tls"] |= _lean(profile)
    if step.resume_ratio is None:
        spec["tls"] |= _resuming(workload.resume, workload.resume_ratio)
    else:
        spec["tls"] |= _resuming(step.serves, step.resume_ratio)
    if step.rate is not None:
        # The seed differs by repetition, so that no two runs have the same arrivals.
        spec["load"] = {
            "rate": {"constant": float(step.rate)},
            "arrivals": step.arrivals,
            "realtime": aim.realtime,
            "seed": 1 + step.repetition,
        }
        if step.patience_ms is not None:
            spec["load"] |= {"patience_ms": step.patience_ms, "retries": step.retries}
    return spec


def _keep_alive_spec(aim: Aim, profile: Profile, workload: Workload) -> dict[str, Any]:
    """As many requests as fit into the window, over connections that are kept open."""
    kept = workload.keep_alive
    assert kept is not None  # Only such workloads have the run.
    http = kept.http or workload.http
    spec = _load_spec(aim, profile, http, kept.window, kept.connections, "unlimited")
    spec["http"] |= {"streams": kept.streams if http == "2" else 1}
    spec["tls"]["client"] = "library"
    return spec | {"load": {"open_within_ms": kept.open_within_ms}}


def _load_spec(
    aim: Aim,
    profile: Profile,
    http: str,
    window: Window,
    connections: int,
    requests: str | Mapping[str, int],
) -> dict[str, Any]:
    """A load of this many connections at once for the time of a window."""
    return preflight_spec(aim, profile, http) | {
        "connections": connections,
        "cpus": list(aim.processors),
        "warmup_ms": window.warmup_ms,
        "stop": {"count": window.count} if window.count else {"duration_ms": window.measure_ms},
        "requests_per_connection": requests,
    }


def _lean(profile: Profile) -> dict[str, str]:
    """The client that makes most load. OpenSSL generates a key for every connection.

    Where version and group are the server's choice, servers and configurations that choose
    differently are compared: one client, the library's, makes the connections of all.
    """
    share = "fresh" if profile.backend == "openssl" else "reused"
    is_fixed = profile.tls == "1.3" and len(profile.groups) == 1
    client = "auto" if is_fixed else "library"
    return {"authenticate": "sampled", "key_share": share, "client": client}


def _resuming(way: str, ratio: float) -> dict[str, str | float]:
    return {} if way == "none" else {"resume": way, "resume_ratio": ratio}


def preflight_spec(aim: Aim, profile: Profile, http: str = "1.1") -> dict[str, Any]:
    """The specification of a single, fully verified connection in this version of HTTP."""
    tls = tls_spec(profile)
    if profile.tls != NO_TLS:
        tls |= {"trust": trust_spec(aim.trust)}
        tls |= {} if aim.server_name is None else {"server_name": aim.server_name}
    return {
        "schema": SCHEMA,
        "url": aim.url,
        "stop": {"count": 1},
        "http": {"version": http, **_status(aim)},
        "tls": tls,
        "allow": list(aim.allow),
        **({} if aim.proof is None else {"proof": aim.proof}),
    }


def _status(aim: Aim) -> dict[str, str]:
    return {} if aim.expect_status == EXPECTED_STATUS else {"expect_status": aim.expect_status}


def tls_spec(profile: Profile) -> dict[str, Any]:
    """The part of the specification on TLS: a profile's offer; none without TLS."""
    if profile.tls == NO_TLS:
        return {}
    spec: dict[str, Any] = {
        "versions": [] if profile.tls is None else [profile.tls],
        "suites": list(profile.suites),
        "groups": list(profile.groups),
        "signature_schemes": list(profile.signature_schemes),
        **({"allow_obsolete": True} if is_obsolete(profile) else {}),
    }
    if profile.hello_retry:
        spec["hello_retry"] = "decoy"
    if profile.backend is not None:
        spec["backend"] = profile.backend
    for name, level in profile.levels:
        row = FACTORS[name]
        spec |= row.tls(level) if row.tls else {}
    return spec


def is_obsolete(profile: Profile) -> bool:
    """Whether a profile needs `allow_obsolete` from the engine."""
    old_suites = set(profile.suites) & set(OBSOLETE_SUITES)
    return profile.tls in OBSOLETE_TLS_VERSIONS or profile.key in OBSOLETE_KEYS or bool(old_suites)


def trust_spec(trust: str) -> str | Mapping[str, str]:
    """The trusted authorities in the syntax of specifications."""
    return trust if trust in ("system", "anyone") else {"pem": trust}
