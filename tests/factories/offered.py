"""Made-up offers of servers, in the form of the probe's record."""

from typing import Any

from tlslab.contract.probe import ProbeRecord
from tlslab.lab.store import from_json

DAY = 86_400

# Midnight of 20 November 2026, a few days before the day of the tests' gradings.
ISSUED = 20_777 * DAY

CODE_POINTS = {
    "TLS_AES_128_GCM_SHA256": 0x1301,
    "TLS_AES_256_GCM_SHA384": 0x1302,
    "TLS_CHACHA20_POLY1305_SHA256": 0x1303,
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": 0xC02B,
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": 0xC02F,
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": 0xC030,
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": 0xC013,
    "TLS_DHE_RSA_WITH_AES_128_CBC_SHA": 0x0033,
    "TLS_RSA_WITH_AES_128_CBC_SHA": 0x002F,
    "TLS_RSA_WITH_RC4_128_SHA": 0x0005,
    "X25519MLKEM768": 0x11EC,
    "X25519": 0x001D,
    "P-256": 0x0017,
    "P-384": 0x0018,
    "X448": 0x001E,
    "ecdsa_secp256r1_sha256": 0x0403,
    "rsa_pss_rsae_sha256": 0x0804,
    "rsa_pkcs1_sha256": 0x0401,
    "rsa_pkcs1_sha1": 0x0201,
}


def listed(version: str, names: tuple[str, ...], order: str | None = "client") -> dict[str, Any]:
    """The items of a server in a version; `NAME@GROUP` is a suite with its group."""
    accepted = []
    for name in names:
        suite, _, group = name.partition("@")
        accepted.append({"name": suite, "code_point": CODE_POINTS[suite], "group": group or None})
    return {"version": version, "order": order, "accepted": accepted, "refusal": None}


def chain(key: str, *versions: str, days: int = 90, **more: Any) -> dict[str, Any]:
    """A certificate chain with a key."""
    signature = "ecdsa-with-SHA256" if key.startswith("ECDSA") else "sha256WithRSAEncryption"
    return {
        "key": key,
        "versions": list(versions),
        "signature_algorithm": signature,
        "not_before": ISSUED,
        "not_after": ISSUED + days * DAY - 1,
        **more,
    }


def silent(topic: str, question: str) -> dict[str, Any]:
    """A question that the server did not answer."""
    words = "gave no answer in 5 s, nor in 15 s"
    refusal = {"class": "timeout_handshake", "words": words}
    return {"topic": topic, "question": question, "refusal": refusal}


def record(**more: Any) -> dict[str, Any]:
    """A server that no policy of the IETF objects to."""
    spoken, unknown = more.pop("spoken", ("1.3", "1.2")), more.pop("unknown", ())
    versions = ("1.3", "1.2", "1.1", "1.0", "SSL 3.0", "SSL 2.0")
    good: dict[str, Any] = {
        "target": "localhost:8443",
        "address": "127.0.0.1:8443",
        "server_name": "localhost",
        "versions": [
            {"version": version, "accepted": None if version in unknown else version in spoken}
            for version in versions
        ],
        "suites": [
            listed("1.3", ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384")),
            listed("1.2", ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",)),
        ],
        "groups": [
            listed("1.3", ("X25519MLKEM768", "X25519", "P-256")),
            listed("1.2", ("X25519", "P-256")),
        ],
        "signature_schemes": [
            listed("1.3", ("ecdsa_secp256r1_sha256",)),
            listed("1.2", ("ecdsa_secp256r1_sha256",)),
        ],
        "certificates": [chain("ECDSA P-256", "1.3", "1.2")],
        "alpn": {"accepted": ["h2", "http/1.1"]},
        "resumption": {"psk_ke": False, "max_early_data_bytes": 0, "early_data_accepted": None},
        "compression": {"records": []},
        "renegotiation": {"secure": True, "client_initiated": False},
        "protections": {
            "extended_master_secret": True,
            "encrypt_then_mac": None,
            "fallback_scsv": True,
        },
        "hints": [],
        "incomplete": None,
    }
    return {**good, **more}


def offered(**more: Any) -> ProbeRecord:
    """The same offer in the model's form."""
    return from_json(record(**more), ProbeRecord)
