"""The server-side requirements of cells."""

from dataclasses import dataclass

NO_FRONT = "none"

# The servers that the lab can start; targets.registry knows how.
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
    target that terminates TLS in front of the server, or `none`. `processors`: how many of the
    machine's processors the server gets; `workers`: the number of processes or threads that the
    server is told to use; None leaves both to the lab (one processor, one worker per processor,
    Tomcat's default). `dh_bits`: the size of the server's Diffie-Hellman parameters; `jdk`: the
    folder of the Java installation; `connector`: Tomcat's TLS implementation (`jsse`, `openssl`,
    `openssl-ffm`); each is None if the experiment does not say. `document_bytes`: the size of the
    served document, None for the workload's. `resume`: the one way in which the server lets
    sessions be resumed. `obsolete`: the server accepts protocols, suites and keys that nobody
    should use. `burn`: the slowdown planted in the reference server (`5%`: each new connection
    wastes that share of its cost). `copy`: a name for one of several equal servers, for comparisons
    of a server with itself. `ocsp_stapling`: the server that terminates TLS staples an OCSP
    response to its certificate. `configuration`: the name of the TLS configuration of a proof
    (model.proof) that replaces the lab's own.
    """

    server: str
    front: str = NO_FRONT
    processors: int | None = None
    workers: int | None = None
    dh_bits: int | None = None
    jdk: str | None = None
    connector: str | None = None
    resume: str = "none"
    obsolete: bool = False
    document_bytes: int | None = None
    burn: str | None = None
    copy: str | None = None
    ocsp_stapling: bool = False
    configuration: str | None = None
