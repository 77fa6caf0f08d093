"""The physical floor: a request on bare TCP, and the primitives, by `tlslab-load primitives`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from bench.child import run
from bench.server import GROUP, KEY, SUITE, Server
from tlslab.analysis.primitive_costs import cost_us
from tlslab.contract.primitives import Primitives
from tlslab.domain.errors import CannotRunError
from tlslab.lab.store import from_json
from tlslab.servers.programs import require_program

# `tlslab-load --lean` authenticates one connection of N in full.
SAMPLING_PERIOD = 128

# Payload of the records that nginx with OpenSSL sends: EncryptedExtensions, Certificate (one ECDSA
# leaf), CertificateVerify, Finished, and the response (head and 2,048 bytes) in one.
OPENED = (6, 560, 80, 36, 2300)

# Payload of the records that the client sends: Finished, and the request.
SEALED = (36, 90)

# ClientHello, ServerHello and the server's encrypted messages, which are hashed.
HASHED = (200, 122, 6, 560, 80, 36)

# Keys of both directions, for the handshake and for application data.
RECORD_KEYS = 4

# The necessary terms of the two kinds of load: the number of each per connection.
LEAN: Mapping[str, float] = {
    "tcp": 1,
    "x25519_agree": 1,
    "key_schedule": 1,
    "transcript": 1,
    "records": 1,
    "ecdsa_p256_verify": 1 / SAMPLING_PERIOD,
}
FULL: Mapping[str, float] = {**LEAN, "x25519_generate": 1, "ecdsa_p256_verify": 1}

NAMES = {
    "tcp": "bare TCP connection, one request on it",
    "x25519_generate": "X25519, generate a key",
    "x25519_agree": "X25519, agree",
    "key_schedule": "HKDF-SHA-256 key schedule",
    "transcript": "SHA-256 of the transcript",
    "records": "AES-128-GCM records",
    "ecdsa_p256_verify": "ECDSA P-256, verify",
}


@dataclass(frozen=True)
class Floor:
    """Processor time of each term once, in microseconds."""

    terms: Mapping[str, float]

    def total(self, how_often: Mapping[str, float]) -> float:
        """The floor of one connection, in microseconds."""
        return sum(self.terms[name] * times for name, times in how_often.items())


def measure(server: Server, seconds: float) -> Floor:
    """One measurement on the generator's processor. Raises CannotRunError."""
    # The bare connections take about a quarter of the time, with pauses between their bursts.
    each = max(5, round(seconds * 1000 / 25))
    what = ["--group", GROUP, "--certificate", KEY, "--suite", SUITE, "--backend", "rustls"]
    plain = f"{server.host}:{server.plain_port}"
    program = require_program("tlslab-load")
    command = [program, "--primitives", *what, "--plain", plain, "--time", f"{each}ms", "--json"]
    done = run(command, seconds, server.worker)
    if done.code != 0:
        raise CannotRunError(f"the floor could not be measured: {done.output.strip()[-400:]}")
    return parse(done.output)


def parse(output: str) -> Floor:
    """Reads the program's one line of JSON. Raises CannotRunError if a primitive is missing."""
    found = from_json({"primitives": json.loads(output)["primitives"]}, Primitives)

    def cost(algorithm: str, operation: str, size: int | None = None) -> float:
        answer = cost_us(found, algorithm, operation, size)
        if answer is None:
            raise CannotRunError(f"the floor has no {operation} of {algorithm}")
        return answer

    cipher = "AES-128-GCM"
    records = sum(cost(cipher, "open", size) for size in OPENED)
    records += sum(cost(cipher, "seal", size) for size in SEALED)
    return Floor(
        {
            "tcp": cost("TCP", "request"),
            "x25519_generate": cost(GROUP, "generate"),
            "x25519_agree": cost(GROUP, "client") - cost(GROUP, "generate"),
            "key_schedule": cost("TLS 1.3 SHA-256", "full"),
            "transcript": cost("SHA-256", "digest", sum(HASHED)),
            "records": RECORD_KEYS * cost(cipher, "key") + records,
            "ecdsa_p256_verify": cost("ecdsa_secp256r1_sha256", "verify"),
        }
    )
