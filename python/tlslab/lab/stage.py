"""One server for a command that is no experiment: started by the lab, or there already."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tlslab.model.errors import UsageError
from tlslab.targets import MANAGED, Running, Setting, Target


@dataclass(frozen=True)
class Stage:
    """Which server, and what it is set up with if the lab starts it (see `targets.base.Setting`).

    `authority` and `insecure` say whom to trust for a server that is there already.
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
    """A server that runs: `trust` as in `lab.specs.Aim`; `running` is None if the lab found it.

    `software` names what serves, as far as the lab knows.
    """

    url: str
    trust: str
    running: Running | None
    software: str = "external"

    @property
    def managed(self) -> bool:
        """Whether the lab has started it."""
        return self.running is not None


@contextmanager
def staged(stage: Stage) -> Iterator[Server]:
    """The server for as long as the block lasts. Raises UsageError and CannotRunError."""
    if "://" in stage.target:
        yield Server(stage.target, _trust(stage), None)
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
    if stage.target not in MANAGED:
        known = ", ".join(MANAGED)
        raise UsageError(f"--target {stage.target}: give {known} or https://HOST[:PORT]/PATH")
    return MANAGED[stage.target].make(setting)


def _trust(stage: Stage) -> str:
    if stage.authority is not None:
        try:
            return stage.authority.read_text("ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--ca {stage.authority}: {error}") from None
    return "anyone" if stage.insecure else "system"
