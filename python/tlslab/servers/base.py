"""The shared parts of all managed targets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tlslab.domain.configuration import Configuration
from tlslab.domain.errors import CannotRunError
from tlslab.domain.factors import GENERATED, dh_size
from tlslab.domain.levels import NO_LEVELS, Levels
from tlslab.servers.address import LOOPBACK, in_url
from tlslab.servers.guard import bound
from tlslab.servers.process import Processes


@dataclass(frozen=True)
class Setting:
    """The settings of a managed target.

    `folder`: private to the run, for certificates, configuration and documents. `keys`: the
    certificate keys to serve. `processors`: those to pin the server to (none: not pinned). `http2`:
    the server speaks HTTP/2 with clients that offer it, if it has such a setting. `idle_s`: how
    long a connection may be silent between two requests. `pause_ms`: the time before each response;
    only the reference server supports it. `resume`: the one way in which sessions may be resumed,
    if any. `suites`: those that cells need (empty: all of the server's). `plain`: HTTP without TLS,
    for a server behind a front, or as the baseline of what TLS costs. `passes_tls`: a front
    forwards bytes and does not terminate TLS. `obsolete`: protocols, suites and keys that nobody
    should use; only the reference server supports them. `levels`: those of factors
    (`domain.factors`) that this server takes; without a level it has its default. `listen`: the
    address of this machine to listen on, which certificates then contain, too. `configuration`:
    replaces the lab's own TLS configuration and determines certificate keys, groups, suites and
    resumption.
    """

    folder: Path
    keys: tuple[str, ...]
    groups: tuple[str, ...]
    document_bytes: int
    processors: tuple[int, ...]
    http2: bool = False
    idle_s: int = 30
    pause_ms: int = 0
    resume: str = "none"
    suites: tuple[str, ...] = ()
    plain: bool = False
    passes_tls: bool = False
    obsolete: bool = False
    levels: Levels = NO_LEVELS
    listen: str = LOOPBACK
    configuration: Configuration | None = None

    @property
    def workers(self) -> int:
        """The number of serving processes or threads: one for each processor if no level says."""
        return self.levels.number("workers") or max(1, len(self.processors))

    @property
    def dh_bits(self) -> int | None:
        """The size of the Diffie-Hellman parameters; None: the server's default."""
        return dh_size(self.levels.get("dh_bits") or "")

    def standard_groups_only(self) -> dict[tuple[str, str], str]:
        """The level of generated Diffie-Hellman parameters, which a server cannot be given."""
        level = self.levels.get("dh_bits") or ""
        if not level.endswith(GENERATED):
            return {}
        return {("dh_bits", level): "the server takes no Diffie-Hellman parameters from a file"}

    @property
    def host(self) -> str:
        """The address in the syntax of URLs and configuration files, before a colon and a port."""
        return in_url(self.listen)


@dataclass(frozen=True)
class Running:
    """A started server: the document's URL, its process, and its count of handshakes if it has one.

    With a front, the two servers' processes are one group.
    """

    url: str
    process: Processes
    count: Callable[[], int] | None = None

    def handshakes(self) -> int | None:
        """The server's own count of full handshakes; None if it keeps none."""
        return None if self.count is None else self.count()

    def stop(self) -> None:
        """Ends the server and all its processes."""
        self.process.stop()


class Target(Protocol):
    """A server that the lab manages."""

    name: str
    backend: str
    software: str

    @property
    def trust_pem(self) -> str:
        """The trusted authorities, in PEM; known after `prepare`."""
        ...

    @property
    def path(self) -> str:
        """The document's URL."""
        ...

    def prepare(self) -> dict[tuple[str, str], str]:
        """Makes certificates and configuration.

        Returns the levels that this server lacks, with reasons.
        """
        ...

    def start(self) -> Running:
        """Starts a fresh server and waits until it answers. Raises CannotRunError."""
        ...


class Front(Target, Protocol):
    """A server that can stand before others."""

    def start(self, *upstreams: str) -> Running:
        """Starts a fresh server that passes requests on to these URLs' hosts and ports in turn."""
        ...


def require(program: str | None, name: str, remedy: str) -> str:
    """A program's path, or CannotRunError with its remedy."""
    if program is None:
        raise CannotRunError(f"{name} is not installed", remedy)
    return program


def pinned(command: Sequence[str], processors: Sequence[int], signal_name: str) -> list[str]:
    """The command, pinned, and ended by the kernel if the lab is killed.

    nginx needs the signal TERM: its master then ends its workers; KILL would orphan them.
    """
    prefix = bound(signal_name)
    if processors:
        prefix += ["taskset", "-c", ",".join(str(number) for number in processors)]
    return prefix + list(command)
