"""`tlslab scale`: what does an idle connection cost?"""

import json
from pathlib import Path

import typer

from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import conclude, err, out
from tlslab.cli.options import ALLOW, AS_JSON, AUTHORITIES, FINE, INSECURE, STATUS, TARGET, option
from tlslab.cli.values import as_url
from tlslab.domain.command_line import did_you_mean
from tlslab.domain.errors import UsageError
from tlslab.domain.scale import ScalePoint
from tlslab.domain.wording import counted
from tlslab.domain.workload import EXPECTED_STATUS
from tlslab.experiment.workload import required_status

EXIT_LOST = 1

BACKENDS = ("rustls", "openssl")

EXAMPLE = "tlslab scale --levels 1000,5000 --target nginx"


def command(
    levels: str = option(
        "Number of idle connections: one level, or several in rising order.",
        default="1000,5000,10000",
        metavar="N,N,...",
    ),
    target: str = TARGET,
    backend: list[str] | None = option(
        "TLS library of the client: rustls, openssl; repeatable; both by default."
    ),
    source: str = option(
        "Local addresses to connect from, in turn.", default="", metavar="ADDRESS,...", panel=FINE
    ),
    expect_status: str | None = STATUS,
    allow: list[str] | None = ALLOW,
    ca: Path | None = AUTHORITIES,
    insecure: bool = INSECURE,
    as_json: bool = AS_JSON,
) -> int:
    """Measure the memory of idle connections: of client, server and kernel.

    Ends with 1 if a connection is lost before the end.
    """
    from tlslab.lab.idle_memory import IdleMemoryRequest, scale
    from tlslab.lab.store import to_json
    from tlslab.report.terminal_results import render_scale

    backends = tuple(backend or BACKENDS)
    if unknown := set(backends) - set(BACKENDS):
        name = unknown.pop()
        meant = did_you_mean(name, BACKENDS)
        raise UsageError(f"--backend {name}: unknown", f"{meant} known: rustls, openssl".lstrip())
    request = IdleMemoryRequest(
        target=as_url(target),
        levels=parse_levels(levels),
        backends=backends,
        sources=tuple(part.strip() for part in source.split(",") if part.strip()),
        allow=(*(allow or ()), *read_allow_file()),
        authority=ca,
        insecure=insecure,
        expect_status=required_status(expect_status or EXPECTED_STATUS),
    )
    found = scale(request, _report)
    if as_json:
        typer.echo(json.dumps(to_json(found) | {"valid": found.valid}))
    else:
        out.print(render_scale(found))
    reported = "every connection lasted" if found.valid else "a connection was lost, see above"
    return conclude(reported, 0 if found.valid else EXIT_LOST)


def parse_levels(text: str) -> tuple[int, ...]:
    """`1000,5000` as rising levels. Raises UsageError."""
    try:
        levels = tuple(int(part) for part in text.split(","))
    except ValueError:
        levels = ()
    if not levels or levels[0] < 1 or list(levels) != sorted(set(levels)):
        raise UsageError(
            f"--levels {text}: not rising numbers of connections", "write them like 1000,5000"
        )
    return levels


def _report(backend: str, reading: ScalePoint) -> None:
    err.print(f"{backend}: {counted(reading.connections, 'connection')} held", markup=False)
