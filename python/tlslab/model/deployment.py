"""The server-side requirements of cells."""

from dataclasses import dataclass

NO_FRONT = "none"

# The servers that the lab can start; targets.registry knows how.
MANAGED_SERVERS = ("reference", "node", "tomcat", "nginx", "apache", "haproxy", "caddy")


@dataclass(frozen=True)
class Deployment:
    """Which server, and how it is set up; cells with equal deployments share a started server.

    `server` is the name of a managed target or the URL of another server; `front` the managed
    target that terminates TLS before it, or `none`. `processors` is how many of the machine's the
    server gets, `workers` how many processes or threads it is told to use; None leaves both to the
    lab (one processor, a worker for each). `dh_bits` is the size of its Diffie-Hellman parameters,
    `jdk` the folder of the Java installation, `connector` Tomcat's TLS (`jsse`, `openssl`,
    `openssl-ffm`); None where the experiment does not say. `document_bytes` is the size of the
    document that it serves, None for the workload's. `resume` is the one way in which the server
    lets sessions be resumed; `obsolete` whether it goes along with protocols, suites and
    keys that nobody should use. `burn` is the slowdown planted in the reference server (`5%`: each
    new connection wastes that share of what it costs), `copy` a name of one of several equal
    servers, for comparisons of a server with itself. `ocsp_stapling` is whether the server that
    terminates TLS staples an OCSP response to its certificate. `configuration` names the TLS
    configuration of a proof (model.proof) that takes the place of the lab's own.
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
