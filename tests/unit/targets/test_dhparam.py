"""Diffie-Hellman parameters against those that OpenSSL knows by name."""

import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dh

from tlslab.model.errors import CannotRunError
from tlslab.targets.dhparam import EXPONENT_BITS, SIZES, parameters_pem, prime, write_parameters


def shown(path: Path) -> str:
    command = ["openssl", "pkeyparam", "-in", str(path), "-noout", "-text"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.parametrize("bits", SIZES)
def test_openssl_knows_the_groups_of_the_rfcs(bits: int, tmp_path: Path) -> None:
    path = write_parameters(tmp_path, bits)
    assert path is not None
    text = shown(path)
    assert f"DH Parameters: ({bits} bit)" in text
    assert f"recommended-private-length: {EXPONENT_BITS[bits]} bits" in text
    if bits >= 2048:
        assert f"GROUP: ffdhe{bits}" in text
    if bits == 1536:
        assert "GROUP: modp_1536" in text


def test_the_smallest_prime_is_that_of_rfc_2409() -> None:
    """Section 6.2, its first and last 64 bits beside the ones; and it is a safe prime."""
    number = prime(1024)
    assert f"{number:X}".startswith("FFFFFFFFFFFFFFFFC90FDAA22168C234")
    assert f"{number:X}".endswith("49286651ECE65381FFFFFFFFFFFFFFFF")
    for witness in (3, 5, 7, 11):
        assert pow(witness, number - 1, number) == 1
        assert pow(witness, (number - 3) // 2, (number - 1) // 2) == 1


def test_another_library_reads_them(tmp_path: Path) -> None:
    parameters = serialization.load_pem_parameters(parameters_pem(2048).encode())
    assert isinstance(parameters, dh.DHParameters)
    assert parameters.parameter_numbers().p == prime(2048)
    assert parameters.parameter_numbers().g == 2


def test_other_sizes_are_refused() -> None:
    with pytest.raises(CannotRunError, match="no Diffie-Hellman parameters of 2000 bits"):
        parameters_pem(2000)


def test_no_size_is_no_file(tmp_path: Path) -> None:
    assert write_parameters(tmp_path, None) is None
    assert list(tmp_path.iterdir()) == []
