"""Reachability of a server that the lab starts, for generators on other hosts."""

import ipaddress
import os

from tlslab.domain.errors import UsageError
from tlslab.lab.generators.choose import ADDRESS, AUTO, RAY
from tlslab.servers.address import LOOPBACK, own_addresses


def require_reachable(generators: str | None, listen: str | None) -> None:
    """Raises UsageError for generators on other hosts and a server that they cannot reach.

    `generators` is as in `choose.generators`; `listen` is the address of the server, None for the
    default, loopback.
    """
    if listen is None and generators is not None and _elsewhere(generators):
        raise UsageError(
            f"--generators {generators}: other hosts cannot reach a server on loopback",
            f"give --listen ADDRESS{_reachable_words()}, or --listen {LOOPBACK} for a cluster that "
            "is this machine alone",
        )


def _reachable_words() -> str:
    """The addresses of this machine that others can reach; empty for none."""
    found = [each for each in own_addresses() if not ipaddress.ip_address(each).is_loopback]
    return f", one of {', '.join(found)}" if found else ""


def _elsewhere(generators: str) -> bool:
    return generators == AUTO or generators.startswith(RAY) or ADDRESS in os.environ
