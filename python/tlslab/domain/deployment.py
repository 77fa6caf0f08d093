"""The server-side requirements of cells."""

import re
from dataclasses import dataclass

from tlslab.domain.levels import NO_LEVELS, Levels

NO_FRONT = "none"

# A front's level: a target, `-tcp` if TLS is passed through, and the number of servers behind.
_FRONT = re.compile(r"(?P<target>[a-z][a-z0-9-]*?)(?P<tcp>-tcp)?(?::(?P<servers>[1-9]))?")

# The servers that the lab can start; servers.registry knows how.
MANAGED_SERVERS = (
    "reference",
    "reference-rustls",
    "node",
    "tomcat",
    "nginx",
    "apache",
    "haproxy",
    "caddy",
)

# The server that is part of tlslab, by its TLS library: OpenSSL, rustls.
REFERENCE_SERVERS = MANAGED_SERVERS[:2]


@dataclass(frozen=True)
class FrontLevel:
    """A level of the factor `front`: `haproxy`, `haproxy-tcp`, `haproxy-tcp:2`.

    `target`: the managed target in front. `passes_tls`: it forwards bytes, and the servers behind
    terminate TLS. `servers`: their number; connections go to them in turn.
    """

    target: str
    passes_tls: bool = False
    servers: int = 1


def front_level(level: str) -> FrontLevel | None:
    """The parts of a level of the factor `front`; None for `none`, and for another form."""
    found = None if level == NO_FRONT else _FRONT.fullmatch(level)
    if found is None:
        return None
    return FrontLevel(found["target"], found["tcp"] is not None, int(found["servers"] or 1))


@dataclass(frozen=True)
class Deployment:
    """A server and its setup; cells with equal deployments share a started server.

    `server`: the name of a managed target, or the URL of another server. `front`: the level of
    the managed target in front of the server, or `none`. `resume`: the one way in which the
    server lets sessions be resumed. `obsolete`: the server accepts protocols, suites and keys that
    nobody should use. `plain`: it serves HTTP without TLS; with `prior_knowledge` HTTP/2 (RFC 9113,
    section 3.3), else HTTP/1.1. `levels`: those of the other factors of the sides `server` and
    `lab` (`domain.factors`) that apply to the cell; the lab decides on the others (one processor,
    one worker per processor).
    """

    server: str
    front: str = NO_FRONT
    resume: str = "none"
    obsolete: bool = False
    plain: bool = False
    prior_knowledge: bool = False
    levels: Levels = NO_LEVELS

    @property
    def before(self) -> FrontLevel | None:
        """What stands in front of the server, if anything does."""
        return front_level(self.front)
