"""The server-side requirements of cells."""

from dataclasses import dataclass

from tlslab.domain.levels import NO_LEVELS, Levels

NO_FRONT = "none"

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
class Deployment:
    """A server and its setup; cells with equal deployments share a started server.

    `server`: the name of a managed target, or the URL of another server. `front`: the managed
    target that terminates TLS in front of the server, or `none`. `resume`: the one way in which the
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
