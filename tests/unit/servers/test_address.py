"""Addresses on which the lab's own servers can listen, and the certificates for each."""

import socket
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from cryptography import x509

from tlslab.domain.errors import UsageError
from tlslab.servers import Setting
from tlslab.servers.address import in_url, own_address
from tlslab.servers.certificates import Authority
from tlslab.servers.configured import free_port

FOUND = ("10.77.0.1", "00:11:22:33:44:55", "fe80::1%eth0", "fd00::1")


@pytest.fixture(autouse=True)
def interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [SimpleNamespace(address=address) for address in FOUND]
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {"eth0": found})


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("10.77.0.1", "10.77.0.1"),
        ("fd00:0::1", "fd00::1"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
    ],
)
def test_an_address_of_this_machine_is_taken_in_its_usual_form(text: str, address: str) -> None:
    assert own_address(text) == address


@pytest.mark.parametrize("text", ["10.77.0.2", "0.0.0.0", "::", "fe80::1"])
def test_an_address_of_another_machine_and_all_addresses_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"--listen {text}: not an address of this") as caught:
        own_address(text)
    assert caught.value.remedy == "it has 10.77.0.1, fd00::1"


def test_a_name_is_refused_with_the_addresses_that_there_are() -> None:
    with pytest.raises(UsageError, match="--listen web1: not an IP address") as caught:
        own_address("web1")
    assert "10.77.0.1" in caught.value.remedy


def test_urls_have_addresses_of_ipv6_in_brackets(tmp_path: Path) -> None:
    assert (in_url("10.77.0.1"), in_url("fd00::1")) == ("10.77.0.1", "[fd00::1]")
    setting = Setting(tmp_path, (), (), 0, (), listen="fd00::1")
    assert setting.host == "[fd00::1]"
    assert Setting(tmp_path, (), (), 0, ()).host == "127.0.0.1"


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "::1"])
def test_a_free_port_is_one_of_that_address(address: str) -> None:
    port = free_port(address)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, port), family=family) as server:
        assert server.getsockname()[:2] == (address, port)


def test_each_leaf_of_an_authority_is_for_its_addresses(tmp_path: Path) -> None:
    files = Authority(tmp_path, ("10.77.0.1", "127.0.0.1")).issue("ecdsa-p256")
    leaf = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    assert addresses == ["127.0.0.1", "::1", "10.77.0.1"]
