"""The engine's run specification (schema/spec.json) for a cell."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tlslab.domain.names import OBSOLETE_KEYS, OBSOLETE_SUITES, OBSOLETE_TLS_VERSIONS
from tlslab.domain.profile import Profile
from tlslab.domain.trial import RunKind
from tlslab.domain.workload import EXPECTED_STATUS, Workload

SCHEMA = "tlslab.spec/1"

# The engine accepts shorter Diffie-Hellman parameters only with `allow_obsolete`.
SAFE_DH_BITS = 2048


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
    spec = preflight_spec(aim, profile, workload.http)
    spec |= {
        "connections": workload.connections,
        "cpus": list(aim.processors),
        "warmup_ms": window.warmup_ms,
        "stop": {"duration_ms": window.measure_ms},
        "requests_per_connection": {"count": workload.requests_per_connection},
    }
    spec["http"] |= {"streams": workload.streams}
    spec["tls"] |= {
        "authenticate": "sampled" if lean else "every",
        # OpenSSL generates a key for every connection.
        "key_share": "reused" if lean and profile.backend != "openssl" else "fresh",
        "client": "auto" if lean else "library",
    }
    if workload.resume != "none":
        spec["tls"] |= {"resume": workload.resume, "resume_ratio": workload.resume_ratio}
    return spec


def _keep_alive_spec(aim: Aim, profile: Profile, workload: Workload) -> dict[str, Any]:
    """As many requests as fit into the window, over connections that are kept open."""
    keep_alive = workload.keep_alive
    assert keep_alive is not None  # Only such workloads have the run.
    http = keep_alive.http or workload.http
    spec = preflight_spec(aim, profile, http)
    spec |= {
        "connections": keep_alive.connections,
        "cpus": list(aim.processors),
        "warmup_ms": keep_alive.window.warmup_ms,
        "stop": {"duration_ms": keep_alive.window.measure_ms},
        "requests_per_connection": "unlimited",
        "load": {"open_within_ms": keep_alive.open_within_ms},
    }
    spec["http"] |= {"streams": keep_alive.streams if http == "2" else 1}
    spec["tls"]["client"] = "library"
    return spec


def preflight_spec(aim: Aim, profile: Profile, http: str = "1.1") -> dict[str, Any]:
    """The specification of a single, fully verified connection in this version of HTTP."""
    tls = tls_spec(profile) | {"trust": trust_spec(aim.trust)}
    if aim.server_name is not None:
        tls["server_name"] = aim.server_name
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
    """The part of the specification on TLS: a profile's offer."""
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
    if profile.ocsp_stapling is not None:
        spec["ocsp_stapling"] = profile.ocsp_stapling
    if profile.dh_bits is not None:
        spec["dh_bits"] = profile.dh_bits
        # A short modulus is measured on purpose; no other obsolete parameter is offered with it.
        spec["allow_obsolete"] = profile.dh_bits < SAFE_DH_BITS
    return spec


def is_obsolete(profile: Profile) -> bool:
    """Whether a profile needs `allow_obsolete` from the engine."""
    old_suites = set(profile.suites) & set(OBSOLETE_SUITES)
    return profile.tls in OBSOLETE_TLS_VERSIONS or profile.key in OBSOLETE_KEYS or bool(old_suites)


def trust_spec(trust: str) -> str | Mapping[str, str]:
    """The trusted authorities in the syntax of specifications."""
    return trust if trust in ("system", "anyone") else {"pem": trust}
