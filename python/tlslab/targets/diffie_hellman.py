"""Diffie-Hellman parameters for servers: the groups that everybody uses, by their size."""

import ssl
from functools import cache

from tlslab.model.errors import UsageError

# By size in bits, the constant that makes p a safe prime: RFC 2409 (1024) and RFC 3526.
OFFSETS = {1024: 129093, 1536: 741804, 2048: 124476, 3072: 1690314, 4096: 240904}

GENERATOR = 2

# Tags of ASN.1 (X.690, section 8).
INTEGER = 0x02
SEQUENCE = 0x30

_SPARE_BITS = 64


def parameters_pem(bits: int) -> str:
    """The parameters of that size, PKCS #3 in PEM, without a length of the private value.

    Raises UsageError for a size that has no well-known group.
    """
    if bits not in OFFSETS:
        sizes = ", ".join(map(str, OFFSETS))
        raise UsageError(f"Diffie-Hellman parameters with {bits} bits: give one of {sizes}")
    body = _der(INTEGER, _unsigned(prime(bits))) + _der(INTEGER, _unsigned(GENERATOR))
    certificate = ssl.DER_cert_to_PEM_cert(_der(SEQUENCE, body))
    return certificate.replace("CERTIFICATE", "DH PARAMETERS")


@cache
def prime(bits: int) -> int:
    """2^n - 2^(n-64) - 1 + 2^64 (floor(2^(n-130) pi) + C), as both RFCs define it."""
    middle = _pi(bits - 130) + OFFSETS[bits]
    return (1 << bits) - (1 << (bits - 64)) - 1 + (middle << 64)


def _pi(bits: int) -> int:
    """2^bits times pi, rounded down, by Machin's formula."""
    unit = 1 << (bits + _SPARE_BITS)
    return (4 * (4 * _arccot(5, unit) - _arccot(239, unit))) >> _SPARE_BITS


def _arccot(x: int, unit: int) -> int:
    total, power, divisor, sign = 0, unit // x, 1, 1
    while power:
        total += sign * (power // divisor)
        power //= x * x
        divisor += 2
        sign = -sign
    return total


def _unsigned(number: int) -> bytes:
    """A positive number's two's complement: a leading zero keeps the sign."""
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def _der(tag: int, content: bytes) -> bytes:
    """One value in DER: tag, length, content."""
    length = len(content)
    if length < 0x80:
        return bytes([tag, length]) + content
    octets = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(octets)]) + octets + content
