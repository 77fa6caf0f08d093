"""Client entries are made from recorded ClientHellos."""

import importlib.util
import tomllib
from pathlib import Path
from typing import Any

import pytest

from live.hellos import client_hello
from tlslab.advice.simulate import Client, clients, read_clients

PATH = Path(__file__).parents[3] / "scripts" / "client_hellos.py"


def script() -> Any:
    spec = importlib.util.spec_from_file_location("client_hellos", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HELLOS = script()


def read(text: str) -> Client:
    data = {"schema": "tlslab.clients/1", "sources": {"here": "here"}}
    return read_clients({**data, **tomllib.loads(text)})[0]


@pytest.mark.parametrize("client", clients(), ids=lambda client: client.name)
def test_an_entry_is_what_the_hello_offers(client: Client) -> None:
    numbers = {name: number for number, name in HELLOS.VERSIONS.items()}
    oldest = numbers[client.versions[-1]]
    found = HELLOS.entry(client_hello(client, "localhost"), oldest)
    made = read(HELLOS.show(client.name, str(client.released), "here", found))
    for field in ("versions", "suites", "groups", "schemes", "shares", "sni", "alpn"):
        assert getattr(made, field) == getattr(client, field), field


def test_a_hello_in_the_form_of_ssl_2() -> None:
    suites = bytes.fromhex("000004 00000a 010080 0000ff".replace(" ", ""))
    body = b"\x01\x03\x01" + len(suites).to_bytes(2) + b"\x00\x00\x00\x10" + suites + bytes(16)
    found = HELLOS.entry(bytes([0x80, len(body)]) + body, 0x0300)
    assert found == {
        "versions": ["1.0", "SSL 3.0"],
        "suites": [0x0004, 0x000A],
        "sni": False,
        "alpn": [],
    }


def test_grease_is_left_out() -> None:
    reader = HELLOS.Reader(bytes.fromhex("0a0a1301aaaa1302"))
    assert reader.numbers() == [0x1301, 0x1302]


def test_a_hello_that_is_cut_off_is_an_error() -> None:
    hello = client_hello(clients()[0], "localhost")
    with pytest.raises(IndexError, match="cut off"):
        HELLOS.entry(hello[:-1])
