"""Certificates: their contents, their signers and signature schemes."""

import datetime
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509 import ocsp, verification

from tlslab.domain.names import CERTIFICATE_KEYS
from tlslab.servers.certificates import Authority


@pytest.mark.parametrize("kind", CERTIFICATE_KEYS)
def test_a_leaf_verifies_against_its_authority(kind: str, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = authority.issue(kind)
    leaf = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(a) for a in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    roots = x509.load_pem_x509_certificates(authority.trust_pem.encode())
    leaf.verify_directly_issued_by(roots[0])
    assert stat.S_IMODE(files.key.stat().st_mode) == 0o600


def test_a_chain_has_one_kind_of_signature(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    for kind in ("ecdsa-p256", "rsa-2048"):
        authority.issue(kind)
    roots = x509.load_pem_x509_certificates(authority.trust_pem.encode())
    assert isinstance(roots[0].public_key(), ec.EllipticCurvePublicKey)
    assert isinstance(roots[1].public_key(), rsa.RSAPublicKey)


def test_a_strict_verifier_takes_the_chain(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = authority.issue("ecdsa-p256")
    leaf = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    roots = x509.load_pem_x509_certificates(authority.trust_pem.encode())
    builder = verification.PolicyBuilder().store(verification.Store(roots))
    chain = builder.build_server_verifier(x509.DNSName("localhost")).verify(leaf, [])
    assert len(chain) == 2


def test_an_expired_leaf_can_be_had_for_tests(tmp_path: Path) -> None:
    files = Authority(tmp_path).issue("ecdsa-p256", lifetime_days=-1)
    leaf = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    now = datetime.datetime.now(datetime.UTC)
    assert leaf.not_valid_before_utc < leaf.not_valid_after_utc < now


def test_a_leaf_is_for_the_addresses_that_are_given_too(tmp_path: Path) -> None:
    files = Authority(tmp_path).issue("ecdsa-p256", addresses=("198.18.0.2",))
    leaf = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    assert addresses == ["127.0.0.1", "::1", "198.18.0.2"]


@pytest.mark.parametrize("kind", CERTIFICATE_KEYS)
def test_a_response_to_staple_is_the_authoritys_and_says_that_its_leaf_is_good(
    kind: str, tmp_path: Path
) -> None:
    files = Authority(tmp_path).issue(kind, stapled=True)
    assert files.ocsp_response is not None
    assert files.issuer is not None
    leaf = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    issuer = x509.load_pem_x509_certificate(files.issuer.read_bytes())
    response = ocsp.load_der_ocsp_response(files.ocsp_response.read_bytes())
    assert response.response_status == ocsp.OCSPResponseStatus.SUCCESSFUL
    assert response.certificate_status == ocsp.OCSPCertStatus.GOOD
    assert response.serial_number == leaf.serial_number
    assert response.next_update_utc is not None
    now = datetime.datetime.now(datetime.UTC)
    assert response.this_update_utc < now < response.next_update_utc <= leaf.not_valid_after_utc
    # The authority signs itself: no responder's certificate is needed.
    assert response.certificates == []
    leaf.verify_directly_issued_by(issuer)
    signed = (response.signature, response.tbs_response_bytes)
    match issuer.public_key():
        case ec.EllipticCurvePublicKey() as key:
            key.verify(*signed, ec.ECDSA(hashes.SHA256()))
        case rsa.RSAPublicKey() as key:
            key.verify(*signed, padding.PKCS1v15(), hashes.SHA256())
        case other:
            raise AssertionError(other)


def test_there_is_no_response_unless_one_is_asked_for(tmp_path: Path) -> None:
    files = Authority(tmp_path).issue("ecdsa-p256")
    assert (files.ocsp_response, files.issuer) == (None, None)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".key", ".pem"]
