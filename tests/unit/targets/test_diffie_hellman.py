"""The primes are those of the RFCs, which are safe ones."""

import ssl
from pathlib import Path

import pytest

from tlslab.model.errors import UsageError
from tlslab.targets.diffie_hellman import OFFSETS, parameters_pem, prime


def passes(number: int) -> bool:
    """Fermat's test, which no number made wrong by chance passes."""
    return pow(2, number - 1, number) == 1


@pytest.mark.parametrize("bits", OFFSETS)
def test_each_is_a_safe_prime_of_its_size(bits: int) -> None:
    p = prime(bits)
    assert p.bit_length() == bits
    assert passes(p)
    assert passes((p - 1) // 2)


def test_the_2048_bit_prime_is_that_of_rfc_3526() -> None:
    digits = f"{prime(2048):X}"
    assert digits.startswith("FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74")
    assert digits.endswith("3995497CEA956AE515D2261898FA051015728E5A8AACAA68FFFFFFFFFFFFFFFF")


@pytest.mark.parametrize("bits", OFFSETS)
def test_openssl_can_read_them(tmp_path: Path, bits: int) -> None:
    file = tmp_path / "dh.pem"
    file.write_text(parameters_pem(bits), "ascii")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DHE:@SECLEVEL=0")
    context.load_dh_params(file)


def test_another_size_is_an_error_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="1000 bits: give one of 1024, 1536, 2048, 3072, 4096"):
        parameters_pem(1000)
