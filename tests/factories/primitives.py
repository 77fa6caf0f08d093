"""Made-up primitives with round costs."""

from tlslab.contract.primitives import Primitive, Primitives

# Processor time of primitives in microseconds, by algorithm, operation and bytes.
PRIMITIVES_US = {
    ("TCP", "connect", None): 10.0,
    ("TCP", "request", 2048): 25.0,
    ("TCP", "serve", 2048): 40.0,
    ("X25519", "generate", None): 8.0,
    ("X25519", "client", None): 30.0,
    ("X25519", "server", None): 31.0,
    ("ecdsa_secp256r1_sha256", "sign", None): 20.0,
    ("ecdsa_secp256r1_sha256", "verify", None): 50.0,
    ("rsa_pss_rsae_sha256 rsa-2048", "sign", None): 600.0,
    ("rsa_pss_rsae_sha256 rsa-2048", "verify", None): 15.0,
    # Nothing per call and a thousandth of a microsecond per byte.
    ("SHA-384", "digest", 64): 0.064,
    ("SHA-384", "digest", 16_384): 16.384,
    ("TLS 1.3 SHA-384", "full", None): 7.0,
    ("AES-256-GCM", "key", None): 0.25,
    # A microsecond per record, and nothing per byte.
    ("AES-256-GCM", "seal", 64): 1.0,
    ("AES-256-GCM", "seal", 16_384): 1.0,
    ("AES-256-GCM", "open", 64): 1.0,
    ("AES-256-GCM", "open", 16_384): 1.0,
}


def made_primitives(without: str = "", times: float = 1.0, backend: str = "rustls") -> Primitives:
    """Primitives with round costs; `without` omits an operation."""
    return Primitives(
        tuple(
            Primitive(backend, algorithm, operation, cost * times, cost, cost, 7, 100, size)
            for (algorithm, operation, size), cost in PRIMITIVES_US.items()
            if operation != without
        )
    )
