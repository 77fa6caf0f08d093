"""Known clients, by the lists of a ClientHello of each (`clients.toml`)."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

SCHEMA = "tlslab.clients/1"


@dataclass(frozen=True)
class Client:
    """A client and its offer, as numbers of IANA's registries in the client's own order.

    `groups` and `schemes` are None if the client sends no such extension. `dh_bits_at_most`: the
    longest Diffie-Hellman prime that the client accepts, None for any. `source`: the origin of the
    lists.
    """

    name: str
    released: int
    source: str
    versions: tuple[str, ...]
    suites: tuple[int, ...]
    groups: tuple[int, ...] | None
    schemes: tuple[int, ...] | None
    shares: tuple[int, ...]
    sni: bool
    alpn: tuple[str, ...]
    dh_bits_at_most: int | None = None


@cache
def clients() -> tuple[Client, ...]:
    """All clients that come with tlslab, by family and age."""
    file = resources.files("tlslab") / "advice" / "clients.toml"
    return read_clients(tomllib.loads(file.read_text("utf-8")))


def read_clients(data: Mapping[str, Any]) -> tuple[Client, ...]:
    """The clients of a data file's content. Raises ValueError if it has none."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"the schema of clients must be {SCHEMA}")
    return tuple(_client(table, data["sources"]) for table in data["client"])


def _client(table: Mapping[str, Any], sources: Mapping[str, str]) -> Client:
    def listed(key: str) -> tuple[int, ...] | None:
        return tuple(table[key]) if key in table else None

    return Client(
        name=table["name"],
        released=table["released"],
        source=sources[table["source"]],
        versions=tuple(table["versions"]),
        suites=tuple(table["suites"]),
        groups=listed("groups"),
        schemes=listed("schemes"),
        shares=tuple(table.get("shares", ())),
        sni=table["sni"],
        alpn=tuple(table["alpn"]),
        dh_bits_at_most=table.get("dh_bits_at_most"),
    )
