"""Holds increasing numbers of connections open, and reads the memory of both sides."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from tlslab.analysis.stats.slope import slopes
from tlslab.domain.errors import CannotRunError, EngineError
from tlslab.domain.profile import Profile
from tlslab.domain.scale import SCHEMA, BackendScale, Scale, ScalePoint
from tlslab.domain.workload import EXPECTED_STATUS
from tlslab.experiment.short import asked_for
from tlslab.lab.discovery import with_status_remedy
from tlslab.lab.engine import local_pool
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.placement import place
from tlslab.lab.private import private_folder
from tlslab.lab.specs import Aim, preflight_spec
from tlslab.lab.stage import Server, Stage, staged

KEY = "ecdsa-p256"
GROUP = "X25519"
DOCUMENT_BYTES = 2048

# The server's limit for idle connections, longer than any measurement: it must close none.
IDLE_S = 1800

# The pause at each level: the client's allocator then frees the memory of the handshakes.
DWELL_S = 1.0


@dataclass(frozen=True)
class IdleMemoryRequest:
    """The connections to hold: at each level, rising, by each of the client's back ends."""

    target: str
    levels: tuple[int, ...]
    backends: tuple[str, ...]
    sources: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    authority: Path | None = None
    insecure: bool = False
    expect_status: str = EXPECTED_STATUS


def scale(request: IdleMemoryRequest, reported: Callable[[str, ScalePoint], None]) -> Scale:
    """A fresh server for each back end; reports each level. Raises CannotRunError."""
    if asked_for():
        request = replace(request, levels=tuple(max(1, level // 20) for level in request.levels))
    engine = local_pool()
    results, software = [], "external"
    for backend in request.backends:
        with private_folder() as folder:
            stage = Stage(
                folder=folder,
                target=request.target,
                keys=(KEY,),
                groups=(GROUP,),
                document_bytes=DOCUMENT_BYTES,
                processors=place(True).server,
                idle_s=IDLE_S,
                authority=request.authority,
                insecure=request.insecure,
            )
            with staged(stage) as server:
                software = server.software
                results.append(_hold(engine, server, backend, request, reported))
    return Scale(SCHEMA, request.target, software, tuple(results))


def _hold(
    engine: GeneratorPool,
    server: Server,
    backend: str,
    request: IdleMemoryRequest,
    reported: Callable[[str, ScalePoint], None],
) -> BackendScale:
    readings: list[ScalePoint] = []

    def listen(event: Mapping[str, Any]) -> None:
        if event["event"] == "held":
            level = event["level"]
            tree = server.running.process.tree() if server.running else []
            readings.append(
                ScalePoint(
                    connections=level["connections"],
                    client=level["memory"]["anonymous"],
                    server=sum(map(anonymous_bytes, tree)) if tree else None,
                    kernel=kernel_bytes(_read("/proc/net/sockstat"), _read("/proc/meminfo")),
                )
            )
            reported(backend, readings[-1])

    status = request.expect_status
    aim = Aim(server.url, server.trust, allow=request.allow, expect_status=status)
    profile = Profile(tls="1.3", groups=(GROUP,)) if server.managed else Profile()
    spec = preflight_spec(aim, profile) | {"sources": list(request.sources)}
    spec["tls"]["backend"] = backend
    try:
        record = engine.hold(spec, request.levels, DWELL_S, listen)
    except EngineError as error:
        raise with_status_remedy(error) from None
    return BackendScale(
        backend=record.backend,
        attempts=record.attempts,
        alive=record.alive,
        lost=record.lost,
        failed=record.failed,
        readings=tuple(readings),
        slopes=slopes(tuple(readings)),
    )


def anonymous_bytes(process: psutil.Process) -> int:
    """A process's heap and stacks; pages shared after a fork are divided among their users."""
    try:
        text = Path(f"/proc/{process.pid}/smaps_rollup").read_text("ascii")
    except OSError:
        raise CannotRunError(
            f"the memory of process {process.pid} may not be read", "run as the server's user"
        ) from None
    return 1024 * _number(r"^(?:Pss_Anon|Anonymous): +(\d+) kB$", text)


def kernel_bytes(sockstat: str, meminfo: str) -> int:
    """The kernel's own structures and TCP's buffers, of the whole machine.

    `sockstat` and `meminfo` are the files of that name in /proc; TCP's buffers are given in pages.
    """
    pages = _number(r"^TCP: .* mem (\d+)$", sockstat)
    return pages * os.sysconf("SC_PAGE_SIZE") + 1024 * _number(r"^Slab: +(\d+) kB$", meminfo)


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text, re.MULTILINE)
    return int(found[1]) if found else 0


def _read(path: str) -> str:
    return Path(path).read_text("ascii")
