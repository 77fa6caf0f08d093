"""Diffie-Hellman parameters for servers: the groups that everybody uses, by their size."""

from functools import cache

from cryptography.hazmat.primitives.asymmetric import dh
from cryptography.hazmat.primitives.serialization import Encoding, ParameterFormat

from tlslab.model.errors import UsageError

# By size in bits, the constant that makes p a safe prime: RFC 2409 (1024) and RFC 3526.
OFFSETS = {1024: 129093, 1536: 741804, 2048: 124476, 3072: 1690314, 4096: 240904}

GENERATOR = 2

_SPARE_BITS = 64


def parameters_pem(bits: int) -> str:
    """The parameters of that size, PKCS #3 in PEM, without a length of the private value.

    Raises UsageError for a size that has no well-known group.
    """
    if bits not in OFFSETS:
        raise UsageError(
            f"Diffie-Hellman parameters with {bits} bits: give one of {', '.join(map(str, OFFSETS))}"
        )
    numbers = dh.DHParameterNumbers(prime(bits), GENERATOR)
    pem = numbers.parameters().parameter_bytes(Encoding.PEM, ParameterFormat.PKCS3)
    return pem.decode("ascii")


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
