"""Diffie-Hellman parameters compared with those that OpenSSL knows by name."""

import subprocess
from pathlib import Path

import pytest

from tlslab.domain.errors import CannotRunError
from tlslab.servers.dhparam import (
    EXPONENT_BITS,
    SIZES,
    generator,
    parameters_pem,
    prime,
    write_parameters,
)


def shown(path: Path) -> str:
    command = ["openssl", "pkeyparam", "-in", str(path), "-noout", "-text"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def drawn_bits(path: Path | None) -> int:
    """The length of a secret exponent that OpenSSL draws with these parameters."""
    command = ["openssl", "genpkey", "-paramfile", str(path), "-text"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    digits = text.partition("private-key:")[2].partition("public-key:")[0]
    return int("".join(digits.replace(":", "").split()), 16).bit_length()


@pytest.mark.parametrize("bits", SIZES)
def test_openssl_knows_the_groups_of_the_rfcs(bits: int, tmp_path: Path) -> None:
    path = write_parameters(tmp_path, str(bits))
    assert path is not None
    text = shown(path)
    assert f"DH Parameters: ({bits} bit)" in text
    assert f"recommended-private-length: {EXPONENT_BITS[bits]} bits" in text
    if bits >= 2048:
        assert f"GROUP: ffdhe{bits}" in text
    assert "GROUP: " in text


def test_the_smallest_group_is_that_of_rfc_5114() -> None:
    """Its generator has the order of section 2.1, a prime of 160 bits."""
    order = int("F518AA8781A8DF278ABA4E7D64B7CB9D49462353", 16)
    assert pow(generator(1024), order, prime(1024)) == 1
    assert generator(1024) > 1
    assert (prime(1024) - 1) % order == 0


@pytest.mark.parametrize("bits", [bits for bits in SIZES if bits <= 4096])
def test_openssl_draws_short_exponents(bits: int, tmp_path: Path) -> None:
    """For a group unknown to OpenSSL the exponent is as long as the prime, and costs as much."""
    assert drawn_bits(write_parameters(tmp_path, str(bits))) <= max(EXPONENT_BITS[bits], 200)


@pytest.mark.parametrize("bits", [1024, 2048, 3072, 4096])
def test_generated_parameters_are_of_no_known_group(bits: int, tmp_path: Path) -> None:
    path = write_parameters(tmp_path, f"{bits}-generated")
    assert path is not None
    text = shown(path)
    assert f"DH Parameters: ({bits} bit)" in text
    assert "GROUP: " not in text
    command = ["openssl", "dhparam", "-in", str(path), "-check", "-noout"]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "DH parameters appear to be ok" in found.stdout + found.stderr


def test_with_generated_parameters_openssl_draws_exponents_as_long_as_the_prime(
    tmp_path: Path,
) -> None:
    assert drawn_bits(write_parameters(tmp_path, "1024-generated")) > 900


def test_other_sizes_are_refused() -> None:
    with pytest.raises(CannotRunError, match="no Diffie-Hellman parameters of 2000 bits"):
        parameters_pem("2000")


def test_no_size_is_no_file(tmp_path: Path) -> None:
    assert write_parameters(tmp_path, None) is None
    assert list(tmp_path.iterdir()) == []
