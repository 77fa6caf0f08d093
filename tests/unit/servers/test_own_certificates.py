"""The user's own certificates are trusted directly, and requested by one of their own names."""

from pathlib import Path

import pytest
from cryptography import x509

from tlslab.domain.configuration import Configuration, ServedCertificate
from tlslab.domain.errors import CannotRunError
from tlslab.servers.certificates import Authority, own_trust, server_name


def configuration(folder: Path, *names: str) -> Configuration:
    """A server that serves a certificate of the user for each name, each in its own folder."""
    served = []
    for number, name in enumerate(names):
        own = folder / str(number)
        own.mkdir()
        files = Authority(own).issue("ecdsa-p256", name=name)
        served.append(ServedCertificate("ecdsa-p256", str(files.certificate), str(files.key)))
    return Configuration("baseline", "my.conf", (), tuple(served))


def test_the_leaf_itself_is_trusted(tmp_path: Path) -> None:
    given = configuration(tmp_path, "www.example.test")
    (trusted,) = x509.load_pem_x509_certificates(own_trust(given).encode())
    served = Path(given.certificates[0].certificate).read_bytes()
    assert trusted == x509.load_pem_x509_certificate(served)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("www.example.test",), "www.example.test"),
        (("*.example.test",), "www.example.test"),
        (("a.example.test", "*.example.test"), "a.example.test"),
    ],
)
def test_the_name_is_one_that_all_certificates_have(
    tmp_path: Path, names: tuple[str, ...], expected: str
) -> None:
    assert server_name(configuration(tmp_path, *names)) == expected


def test_the_labs_own_are_for_localhost(tmp_path: Path) -> None:
    made = Configuration("baseline", "my.conf", (), (ServedCertificate("rsa-2048"),))
    assert [server_name(each) for each in (None, made)] == ["localhost", "localhost"]
    assert own_trust(made) == ""


def test_certificates_without_a_common_name_are_refused_with_a_remedy(tmp_path: Path) -> None:
    given = configuration(tmp_path, "a.example.test", "b.example.test")
    with pytest.raises(CannotRunError, match="no name in common") as raised:
        server_name(given)
    assert "--key" in raised.value.remedy
