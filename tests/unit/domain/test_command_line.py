"""Addresses for metrics and page."""

import pytest

from tlslab.domain.command_line import Address, parse_address
from tlslab.domain.errors import UsageError


@pytest.mark.parametrize(
    ("text", "address", "loopback"),
    [
        ("127.0.0.1:9464", Address("127.0.0.1", 9464), True),
        (":0", Address("127.0.0.1", 0), True),
        ("localhost:80", Address("localhost", 80), True),
        ("[::1]:9464", Address("::1", 9464), True),
        ("0.0.0.0:9464", Address("0.0.0.0", 9464), False),
        ("bed.example:9464", Address("bed.example", 9464), False),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: Address, loopback: bool) -> None:
    assert parse_address(text, "--metrics") == address
    assert address.is_loopback == loopback
    assert parse_address(address.shown, "--metrics") == address


@pytest.mark.parametrize(
    "text", ["", "9464", "host", "host:", "host:x", "host:65536", "::1:80", "h:-1", "h:²"]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"--live .*not an address") as refused:
        parse_address(text, "--live")
    assert "127.0.0.1:9464" in refused.value.remedy
