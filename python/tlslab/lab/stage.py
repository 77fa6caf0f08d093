"""One server for a command without an experiment: started by the lab, or already running."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tlslab.lab.request import whom_to_trust
from tlslab.servers import Running, Setting, Target, find_kind


@dataclass(frozen=True)
class Stage:
    """The server, and its setting if the lab starts it (see `targets.base.Setting`).

    `authority` and `insecure` determine the trust in a server that already runs.
    """

    folder: Path
    target: str
    keys: tuple[str, ...]
    groups: tuple[str, ...]
    document_bytes: int
    processors: tuple[int, ...]
    idle_s: int = 30
    pause_ms: int = 0
    authority: Path | None = None
    insecure: bool = False


@dataclass(frozen=True)
class Server:
    """A running server: `trust` as in `lab.specs.Aim`; `running` is None if the lab did not start
    it.

    `software` names the serving program, as far as the lab knows.
    """

    url: str
    trust: str
    running: Running | None
    software: str = "external"

    @property
    def managed(self) -> bool:
        """Whether the lab has started the server."""
        return self.running is not None


@contextmanager
def staged(stage: Stage) -> Iterator[Server]:
    """The server, for the duration of the block. Raises UsageError and CannotRunError."""
    if "://" in stage.target:
        yield Server(stage.target, whom_to_trust(stage.authority, stage.insecure), None)
        return
    target = _managed(stage)
    target.prepare()
    running = target.start()
    try:
        yield Server(running.url, target.trust_pem, running, target.software)
    finally:
        running.stop()


def _managed(stage: Stage) -> Target:
    setting = Setting(
        folder=stage.folder,
        keys=stage.keys,
        groups=stage.groups,
        document_bytes=stage.document_bytes,
        processors=stage.processors,
        idle_s=stage.idle_s,
        pause_ms=stage.pause_ms,
    )
    return find_kind(stage.target).make(setting)
