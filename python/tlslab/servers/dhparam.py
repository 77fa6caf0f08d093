"""Diffie-Hellman parameters: those of well-known groups, and those that were searched at random.

Sizes of 2048 bits and more are the ffdhe groups of RFC 7919 (appendix A), 1536 is the MODP group of
RFC 3526 (section 2), 1024 that of RFC 5114 (section 2.1). All except the last are safe primes with
generator 2, defined by a formula: 2^b - 2^(b-64) - 1 + 2^64 * (floor(2^(b-130) * c) + offset),
where c is e for RFC 7919 and pi for RFC 3526.

OpenSSL knows all of these groups, and therefore uses a secret exponent of twice their strength with
them. With an unknown group its exponent is as long as the prime, whatever the parameters say: the
1024 bits of RFC 2409 would cost a server more than 2048 bits of RFC 7919. So it is with the
parameters that `openssl dhparam` searches, the levels `2048-generated` and the like: safe primes of
no special form. They are kept with the package (`templates/dh-generated.pem`), as the search for
one of 4096 bits takes minutes.
"""

import base64
import re
from functools import cache
from pathlib import Path

from tlslab.domain.errors import CannotRunError
from tlslab.domain.factors import GENERATED, dh_size

# Offsets by bits, from the RFCs.
_FFDHE = {2048: 560316, 3072: 2625351, 4096: 5736041, 6144: 15705020, 8192: 10965728}
_MODP = {1536: 741804}

# RFC 5114, section 2.1: prime and generator of a subgroup of 160 bits.
_PRIME_1024 = int(
    "B10B8F96A080E01DDE92DE5EAE5D54EC52C99FBCFB06A3C69A6A9DCA52D23B61"
    "6073E28675A23D189838EF1E2EE652C013ECB4AEA906112324975C3CD49B83BF"
    "ACCBDD7D90C4BD7098488E9C219A73724EFFD6FAE5644738FAA31A4FF55BCCC0"
    "A151AF5F0DC8B4BD45BF37DF365C1A65E68CFDA76D4DA708DF1FB2BC2E4A4371",
    16,
)
_GENERATOR_1024 = int(
    "A4D1CBD5C3FD34126765A442EFB99905F8104DD258AC507FD6406CFF14266D31"
    "266FEA1E5C41564B777E690F5504F213160217B4B01B886A5E91547F9E2749F4"
    "D7FBD7D3B9A92EE1909D0D2263F80A76A6A24C087A091F531DBF0A0169B6A28A"
    "D662A4D18E73AFA32D779D5918D08BC8858F4DCEF97C2A24855E6EEB22B3B2E5",
    16,
)

SIZES = (1024, *_MODP, *_FFDHE)

# The bits of the server's secret exponent, as the parameters' file states them, twice the strength
# of the group: RFC 5114 (section 2.1), RFC 3526 (section 8), RFC 7919 (appendix A).
EXPONENT_BITS = {1024: 160, 1536: 180, 2048: 225, 3072: 275, 4096: 325, 6144: 375, 8192: 400}

# Additional bits, so that the rounding of each term is lost below.
_GUARD_BITS = 64


@cache
def prime(bits: int) -> int:
    """The group's prime. Raises CannotRunError for a size without a well-known group."""
    if bits not in SIZES:
        known = ", ".join(map(str, SIZES))
        raise CannotRunError(f"no Diffie-Hellman parameters of {bits} bits", f"known: {known}")
    if bits == 1024:
        return _PRIME_1024
    constant, offset = (_e, _FFDHE[bits]) if bits in _FFDHE else (_pi, _MODP[bits])
    middle = constant(bits - 130) + offset
    return (1 << bits) - (1 << bits - 64) - 1 + (middle << 64)


def generator(bits: int) -> int:
    """The group's generator."""
    return _GENERATOR_1024 if bits == 1024 else 2


def parameters_pem(level: str) -> str:
    """The parameters of a level of `dh_bits` in the form of PKCS #3.

    Prime, generator, and of a well-known group the exponent's bits.
    """
    bits = dh_size(level) or 0
    if level.endswith(GENERATED):
        return _generated()[bits]
    numbers = (prime(bits), generator(bits), EXPONENT_BITS[bits])
    content = b"".join(_der(0x02, _unsigned(number)) for number in numbers)
    text = base64.encodebytes(_der(0x30, content)).decode("ascii").replace("\n", "")
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN DH PARAMETERS-----", *lines, "-----END DH PARAMETERS-----", ""])


@cache
def _generated() -> dict[int, str]:
    """The kept parameters by their bits, smallest first."""
    kept = (Path(__file__).parent / "templates" / "dh-generated.pem").read_text("ascii")
    blocks = re.findall(r"^-----BEGIN.*?^-----END [A-Z ]+-----\n", kept, re.MULTILINE | re.DOTALL)
    return dict(zip((1024, 2048, 3072, 4096), blocks, strict=True))


def write_parameters(folder: Path, level: str | None) -> Path | None:
    """The parameters in a file of the folder; None if no level is requested."""
    if level is None:
        return None
    path = folder / f"dh-{level}.pem"
    path.write_text(parameters_pem(level), "ascii")
    return path


def _unsigned(number: int) -> bytes:
    """A positive INTEGER's content: the highest bit is its sign."""
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def _der(tag: int, content: bytes) -> bytes:
    """A value with its tag and length (X.690, section 8.1)."""
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def _e(bits: int) -> int:
    """floor(2^bits * e), by the sum of 1/k!."""
    term = total = 1 << bits + _GUARD_BITS
    divisor = 1
    while term := term // divisor:
        total += term
        divisor += 1
    return total >> _GUARD_BITS


def _pi(bits: int) -> int:
    """floor(2^bits * pi), by Machin: pi = 16 arctan(1/5) - 4 arctan(1/239)."""
    one = 1 << bits + _GUARD_BITS
    return (16 * _arctan(5, one) - 4 * _arctan(239, one)) >> _GUARD_BITS


def _arctan(inverse: int, one: int) -> int:
    """The arctangent of 1 / inverse, times one."""
    power = one // inverse
    total, divisor, sign = power, 1, 1
    while power := power // inverse**2:
        divisor += 2
        sign = -sign
        total += sign * (power // divisor)
    return total
