"""The physical limit of a connection: the sum of the primitives that it cannot avoid.

The cost of each primitive is that of the fastest library on this machine, in calls one after
another with nothing around them. A connection takes:

- the bare TCP connection with its requests (client: `request`, server: `serve`);
- for a full handshake, the key exchange and the handshake signature: made by the server, verified
  by the client on the share of its connections that it authenticates. The certificate chain is not
  included: its verification may be cached (ADR 0006);
- the hash of the handshake's messages and the key schedule;
- records: their keys are set up, and all bytes after the hellos are sealed by one side and opened
  by the other.

The rest of any client's work (waking up for each flight, parsing, HTTP, memory) is left out, so
that a ratio of 1 cannot be reached.
"""

import math

from tlslab.analysis.primitive_costs import cost_us
from tlslab.contract.primitives import Primitives
from tlslab.contract.record import Facts, RunRecord

# The most plaintext that a record holds (RFC 8446, section 5.1).
_RECORD = 16_384

# The head of a short request or response. Bytes are on record for completed connections only.
_HEAD = 160

_OF_CURVE = {
    "ecdsa p-256": "ecdsa_secp256r1_sha256",
    "ecdsa p-384": "ecdsa_secp384r1_sha384",
    "ecdsa p-521": "ecdsa_secp521r1_sha512",
}

# A ServerHello without its key share; in TLS 1.3 everything after it is encrypted.
_SERVER_HELLO = 90


def client_limit_us(record: RunRecord, primitives: Primitives) -> float | None:
    """The limit of a client's connection in microseconds; None if a primitive is unknown."""
    completed = record.outcomes.completed
    facts = _facts(record)
    if completed == 0 or facts is None:
        return None
    parts = [
        _tcp(record, primitives, "connect", "request"),
        _session(record, facts, primitives, seals="sent", opens="received"),
    ]
    if _exchanges(facts):
        # A reused key share is generated once; the shared secret is computed every time.
        parts.append(cost_us(primitives, str(facts.group), "client"))
        if record.spec.get("tls", {}).get("key_share") == "reused":
            drawn = cost_us(primitives, str(facts.group), "generate")
            parts.append(None if drawn is None else -drawn)
    if facts.kind == "full":
        verified = cost_us(primitives, _scheme(record, facts), "verify")
        share = record.authenticated / completed
        parts.append(None if verified is None else verified * min(1.0, share))
    return _sum(parts)


def request_limit_us(record: RunRecord, primitives: Primitives, together: int = 1) -> float | None:
    """The limit of a client's request on a connection that stays open, in microseconds.

    The bare exchange on TCP, and the records of a request and of its response. `together` is the
    number of responses that the exchange of the primitives had at once. None if a primitive is
    unknown.
    """
    if record.requests == 0:
        return None
    # Connections that are open to the end have no facts of their own.
    cipher = cipher_of(str(record.preflight.facts.suite))
    exchange = cost_us(primitives, "TCP", "exchange")
    parts = [None if exchange is None else exchange / together]
    for operation, payload in (("seal", 0), ("open", record.preflight.body_bytes or 0)):
        records = max(1, math.ceil((_HEAD + payload) / _RECORD))
        parts.append(_records(primitives, cipher, operation, _HEAD + payload, records))
    return _sum(parts)


def server_limit_us(record: RunRecord, primitives: Primitives) -> float | None:
    """The limit of a connection for the server that a run has loaded, in microseconds."""
    facts = _facts(record)
    if record.outcomes.completed == 0 or facts is None:
        return None
    parts = [
        _tcp(record, primitives, "connect", "serve"),
        _session(record, facts, primitives, seals="received", opens="sent"),
    ]
    if _exchanges(facts):
        parts.append(cost_us(primitives, str(facts.group), "server"))
    if facts.kind == "full":
        parts.append(cost_us(primitives, _scheme(record, facts), "sign"))
    return _sum(parts)


def _sum(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) and sum(known) > 0 else None


def _facts(record: RunRecord) -> Facts | None:
    """The facts that all connections negotiated; None if they differ."""
    return record.facts[0] if len(record.facts) == 1 else None


def _exchanges(facts: Facts) -> bool:
    """Whether the handshake exchanges keys: a resumption in TLS 1.2 does not."""
    return facts.kind == "full" or facts.tls == "1.3"


def _scheme(record: RunRecord, facts: Facts) -> str:
    """The primitive of the handshake signature: by the key, and for RSA by the padding.

    The primitive has one hash for each key; what another one costs is left out. In TLS 1.2 an ECDSA
    scheme does not name the curve (RFC 8446, section 4.2.3).
    """
    scheme, certificate = str(facts.signature_scheme), record.preflight.certificate
    if certificate is None:
        return scheme
    key = certificate.key.lower()
    if scheme.startswith("rsa_"):
        return f"{scheme.rpartition('_')[0]}_sha256 {key}"
    return _OF_CURVE.get(key, scheme)


def _tcp(record: RunRecord, primitives: Primitives, bare: str, whole: str) -> float | None:
    """The cost of a connection with the answered number of requests."""
    requests = record.requests / record.outcomes.completed
    connect = cost_us(primitives, "TCP", bare)
    if requests == 0:
        return connect
    one = cost_us(primitives, "TCP", whole)
    if connect is None or one is None:
        return None
    return one + (requests - 1) * max(0.0, one - connect)


def _session(
    record: RunRecord, facts: Facts, primitives: Primitives, seals: str, opens: str
) -> float | None:
    """The cost of hash, key schedule and records for the side that seals the bytes `seals`."""
    suite, is_13 = str(facts.suite), facts.tls == "1.3"
    hash_ = "SHA-384" if suite.endswith("SHA384") else "SHA-256"
    completed = record.outcomes.completed
    whole = {"sent": record.bytes.sent, "received": record.bytes.received}
    shaken = {
        "sent": record.bytes.handshake_sent,
        "received": record.bytes.handshake_received,
    }
    parts = [
        cost_us(primitives, hash_, "digest", round(sum(shaken.values()) / completed)),
        cost_us(primitives, f"TLS {facts.tls} {hash_}", "full"),
    ]
    cipher = cipher_of(suite)
    # TLS 1.3 has separate keys for the handshake and for what follows it.
    key = cost_us(primitives, cipher, "key")
    parts.append(None if key is None else key * (4 if is_13 else 2))
    for operation, way in (("seal", seals), ("open", opens)):
        payload = (whole[way] - shaken[way]) / completed
        hidden = shaken[way] / completed - _SERVER_HELLO if is_13 and way == "received" else 32.0
        records = 1 + max(1, math.ceil(payload / _RECORD))
        parts.append(_records(primitives, cipher, operation, max(0.0, hidden) + payload, records))
    return _sum(parts)


def _records(
    primitives: Primitives, cipher: str, operation: str, size: float, records: int
) -> float | None:
    """The cost of these bytes in N records of equal length."""
    one = cost_us(primitives, cipher, operation, round(size / records))
    return None if one is None else one * records


def cipher_of(suite: str) -> str:
    """The primitive for a suite's record protection: `AES-128-GCM`, `AES-128-CBC-SHA`."""
    body = suite.partition("_WITH_")[2] or suite.removeprefix("TLS_")
    if "_CBC_" not in body:
        body = body.removesuffix("_SHA256").removesuffix("_SHA384")
    return body.replace("_", "-")
