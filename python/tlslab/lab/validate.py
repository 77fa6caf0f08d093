"""Validates the tool's times against a packet capture of the same connections."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from tlslab.analysis.capture_match import compare, match
from tlslab.domain.deployment import REFERENCE_SERVERS
from tlslab.domain.errors import CannotRunError, EngineError
from tlslab.domain.profile import Profile
from tlslab.domain.validation import SCHEMA, RateResult, Validation
from tlslab.domain.workload import EXPECTED_STATUS
from tlslab.experiment.short import asked_for
from tlslab.lab.capture import capturing, read_capture, read_trace
from tlslab.lab.delayed_path import delayed_path
from tlslab.lab.discovery import with_status_remedy
from tlslab.lab.engine import local_pool
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.placement import Placement, may_run_in_real_time, place
from tlslab.lab.private import private_folder
from tlslab.lab.resolution import INSTANTS, measure_resolution
from tlslab.lab.specs import Aim, preflight_spec
from tlslab.lab.stage import Stage, staged
from tlslab.servers.address import LOOPBACK

# The minimum number of connections for a 99th percentile.
CONNECTIONS = 1000

# The largest number of connections in flight: one second of the highest rate.
IN_FLIGHT = 2000

# The number of instants in a short run (TLSLAB_SHORT_RUNS), which only shows that the command
# works.
SHORT_INSTANTS = 40

# The key and the group of the server that the lab starts; fixed, so that machines are comparable.
KEY = "ecdsa-p256"
GROUP = "X25519"
DOCUMENT_BYTES = 2048


@dataclass(frozen=True)
class ValidationRequest:
    """The validation to make: rates in connections/s, each for at least `seconds`.

    `delay_ms`: the round-trip time of the path to the server; 0: loopback itself.
    """

    target: str
    rates: tuple[float, ...]
    seconds: float
    pause_ms: int
    interface: str
    delay_ms: float = 0.0
    backend: str = "auto"
    allow: tuple[str, ...] = ()
    authority: Path | None = None
    insecure: bool = False
    expect_status: str = EXPECTED_STATUS


def validate(request: ValidationRequest, reported: Callable[[RateResult], None]) -> Validation:
    """Runs the load at each rate with a capture beside it; reports each result immediately.

    Raises CannotRunError, with the missing part.
    """
    if asked_for():
        request = replace(request, rates=request.rates[-1:], seconds=min(request.seconds, 0.5))
    engine = local_pool()
    placement = place(request.target in (*REFERENCE_SERVERS, "nginx"))
    with private_folder() as folder:
        stage = Stage(
            folder=folder,
            target=request.target,
            keys=(KEY,),
            groups=(GROUP,),
            document_bytes=DOCUMENT_BYTES,
            processors=placement.server,
            pause_ms=request.pause_ms,
            authority=request.authority,
            insecure=request.insecure,
        )
        with staged(stage) as server:
            profile = Profile(tls="1.3", groups=(GROUP,)) if server.managed else Profile(tls=None)
            aim = Aim(
                server.url,
                server.trust,
                allow=request.allow,
                processors=placement.generator,
                expect_status=request.expect_status,
            )
            spec = preflight_spec(aim, profile)
            spec["tls"]["backend"] = request.backend
            try:
                _, backend = engine.preflight(spec)
            except EngineError as error:
                raise with_status_remedy(error) from None
            rates = []
            for rate in request.rates:
                spec |= _load(rate, request.seconds, placement)
                with on_path(spec, request.interface, request.delay_ms) as (there, interface):
                    # If the engine refuses the server, no other program connects to it either.
                    engine.preflight(there)
                    rates.append(validate_rate(engine, there, rate, interface, placement, folder))
                reported(rates[-1])
    pause = request.pause_ms if request.target in REFERENCE_SERVERS else 0
    return Validation(
        SCHEMA, request.target, backend, pause, tuple(rates), delay_ms=request.delay_ms
    )


def _load(rate: float, seconds: float, placement: Placement) -> dict[str, Any]:
    """The load section of the specification: evenly spaced arrivals."""
    return {
        "connections": IN_FLIGHT,
        "cpus": list(placement.generator),
        "warmup_ms": 0,
        "stop": {"duration_ms": math.ceil(1000 * max(seconds, CONNECTIONS / rate))},
        "load": {
            "rate": {"constant": rate},
            "arrivals": "constant",
            "realtime": placement.alone and may_run_in_real_time(),
        },
    }


@contextmanager
def on_path(
    spec: dict[str, Any], interface: str, delay_ms: float
) -> Iterator[tuple[dict[str, Any], str]]:
    """The specification and the interface of a path with this round-trip time.

    Without a delay they are the given ones. Raises CannotRunError if there can be no such path.
    """
    if not delay_ms:
        yield spec, interface
        return
    url = urlsplit(spec["url"])
    if url.hostname != LOOPBACK:
        raise CannotRunError(
            f"a path with a delay leads to servers on {LOOPBACK} only",
            "leave the delay out, or take a server that the lab starts",
        )
    with delayed_path(delay_ms / 1000) as path:
        there = url._replace(netloc=f"{path.address}:{url.port or 443}")
        delayed = {
            **spec,
            "url": urlunsplit(there),
            "allow": [*spec["allow"], path.address],
            "tls": {"server_name": LOOPBACK, **spec["tls"]},
        }
        yield delayed, path.interface


def validate_rate(
    engine: GeneratorPool,
    spec: dict[str, Any],
    rate: float,
    interface: str,
    placement: Placement,
    folder: Path,
) -> RateResult:
    """One run, compared with a capture beside it. Raises CannotRunError, with the missing part."""
    trace = folder / "trace.csv"
    url = urlsplit(spec["url"])
    port = url.port or 443
    host = url.hostname or ""
    with capturing(folder, interface, host, port, placement.server) as capture:
        instants = SHORT_INSTANTS if asked_for() else INSTANTS
        resolution = measure_resolution(placement.generator, host, port, rate, instants)
        record = engine.run(spec, lambda event: None, trace)
    offset_ns = time.time_ns() - time.monotonic_ns()
    captured, packets = read_capture(capture.path, port)
    pairs, missing = match(read_trace(trace), captured, offset_ns)
    return RateResult(
        rate=rate,
        achieved=record.outcomes.completed / record.seconds if record.seconds else 0.0,
        resolution=resolution,
        completed=record.outcomes.completed,
        matched=len(pairs),
        missing=missing,
        packets=packets,
        dropped=capture.dropped,
        phases=compare(pairs, resolution),
    )
