"""Keys are wrapped in the form that the transit engine requires."""

import base64

import pytest
from cryptography.hazmat.primitives import hashes, keywrap, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from tlslab.domain.errors import CannotRunError
from tlslab.servers.openbao import NodeApi, _kind, wrapped


def _pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def test_a_wrapped_key_can_be_unwrapped_by_the_node_alone() -> None:
    key = rsa.generate_private_key(65537, 2048)
    node = rsa.generate_private_key(65537, 2048)
    public = node.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    parts = base64.b64decode(wrapped(_pem(key), public.decode()))
    oaep = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)
    between = node.decrypt(parts[:256], oaep)
    again = serialization.load_der_private_key(
        keywrap.aes_key_unwrap_with_padding(between, parts[256:]), None
    )
    assert isinstance(again, rsa.RSAPrivateKey)
    assert again.private_numbers() == key.private_numbers()


def test_the_kind_of_key_is_named_and_others_than_rsa_refused() -> None:
    assert _kind(_pem(rsa.generate_private_key(65537, 2048))) == "rsa-2048"
    with pytest.raises(CannotRunError, match="RSA keys only"):
        _kind(_pem(ec.generate_private_key(ec.SECP256R1())))


def test_a_node_that_is_not_there_is_one_line(own_authority: str) -> None:
    with pytest.raises(CannotRunError) as caught:
        NodeApi("https://127.0.0.1:1", "token", own_authority).ask("GET", "sys/health")
    assert "signing node https://127.0.0.1:1 refuses sys/health" in caught.value.message
    assert "\n" not in caught.value.message
