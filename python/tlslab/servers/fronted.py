"""A server behind another one that terminates TLS for it: two servers as one target."""

from tlslab.servers.base import Front, Running, Target
from tlslab.servers.process import ServerGroup


class Fronted:
    """Two servers, of which clients connect to the front: its certificates and its TLS count.

    Processor time and memory are those of both servers; the death of either is the target's.
    """

    def __init__(self, front: Front, back: Target) -> None:
        self._front = front
        self._back = back
        self.name = f"{front.name}+{back.name}"
        self.backend = front.backend
        self.software = f"{front.software} before {back.software}"

    @property
    def trust_pem(self) -> str:
        """The trusted authorities, in PEM."""
        return self._front.trust_pem

    @property
    def path(self) -> str:
        """The document's path: the front passes paths on unchanged."""
        return self._back.path

    def prepare(self) -> dict[tuple[str, str], str]:
        """Makes both servers' certificates and configuration; returns what the front lacks, with
        reasons.

        Levels that the server behind lacks do not matter, because it serves without TLS.
        """
        self._back.prepare()
        return self._front.prepare()

    def start(self) -> Running:
        """Starts the server behind, then the front."""
        back = self._back.start()
        try:
            front = self._front.start(back.url)
        except BaseException:
            back.stop()
            raise
        return Running(
            url=front.url.removesuffix(self._front.path) + self._back.path,
            process=ServerGroup((front.process, back.process)),
            count=front.count,
        )
