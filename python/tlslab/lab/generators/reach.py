"""Whether generators on other hosts can reach a server that the lab starts."""

import os

from tlslab.lab.generators.choose import ADDRESS, AUTO, RAY
from tlslab.model.errors import UsageError
from tlslab.targets.address import own_addresses


def require_reachable(generators: str | None, listen: str | None) -> None:
    """Raises UsageError for generators on other hosts and a server that they cannot reach.

    `generators` is as in `choose.generators`; `listen` is the address of the server, None for the
    one that it has by default, loopback.
    """
    if listen is None and generators is not None and _elsewhere(generators):
        raise UsageError(
            f"--generators {generators}: other hosts cannot reach a server on loopback",
            f"give --listen ADDRESS, one of {', '.join(own_addresses())}",
        )


def _elsewhere(generators: str) -> bool:
    return generators == AUTO or generators.startswith(RAY) or ADDRESS in os.environ
