"""A server's TLS configuration, in the form in which two configurations are compared."""

from dataclasses import dataclass

BASELINE = "baseline"
CANDIDATE = "candidate"


@dataclass(frozen=True)
class ServedCertificate:
    """A certificate that a configuration serves: its key (`rsa-4096`), and the user's own files.

    Without files the lab makes one with such a key; the private key is never copied.
    """

    key: str
    certificate: str = ""
    private_key: str = ""


@dataclass(frozen=True)
class Configuration:
    """The TLS part of a server's configuration.

    `source` names the origin. `lines` are whole directives for the server's block, without the
    directives of certificates. `http2`: the server speaks HTTP/2 with clients that offer it.
    `notes` describe deviations from the original file; `ignored` names the directives that were
    left out, `unread` what was not understood and may set up TLS as well, such as an included
    file that could not be read.
    `text` has the settings as lines of a file of the server; older runs have none.
    """

    name: str
    source: str
    lines: tuple[str, ...]
    certificates: tuple[ServedCertificate, ...]
    http2: bool = False
    notes: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    text: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its certificates."""
        return tuple(each.key for each in self.certificates)
