"""`tlslab plan`: how many processors does a load take, or what do N of them carry?"""

from pathlib import Path
from typing import Annotated

import typer

from tlslab.cli.options import AsJson, Version
from tlslab.cli.values import as_bytes, as_percentage, as_rate, as_share
from tlslab.domain.errors import UsageError
from tlslab.experiment.capacity import required_objective

# At this share of a processor's time there is room left for bursts.
BUSY_AT_MOST = "80%"

LIMIT_PROCESSORS = 1_000_000

LIMIT_REQUESTS = 1_000_000

Calibration = Annotated[
    Path | None,
    typer.Argument(
        metavar="DIR", help="Run folder of calibrate; the newest below runs/ by default."
    ),
]
NewConnections = Annotated[
    str | None,
    typer.Option(metavar="RATE", help="Load in new connections per second: 5000/s, 5k/s."),
]
Processors = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=LIMIT_PROCESSORS, help="Number of processors."),
]
Resumed = Annotated[
    str, typer.Option(metavar="PERCENT", help="Share of connections that resume a session.")
]
Requests = Annotated[
    int,
    typer.Option(
        "--requests-per-connection",
        metavar="N",
        min=1,
        max=LIMIT_REQUESTS,
        help="Number of requests on each connection.",
    ),
]
DocumentSize = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="BYTES",
        help="Size of a response: 4k is 4,096 bytes; the calibration's by default.",
    ),
]
ObjectiveText = Annotated[
    str | None,
    typer.Option(metavar="p99<50ms", help="Response time that whole connections must meet."),
]
Busy = Annotated[
    str, typer.Option(metavar="PERCENT", help="Largest share of time that a processor is busy.")
]
Tls = Annotated[
    str | None,
    typer.Option(metavar="VERSION", help="TLS version: 1.2, 1.3; the calibration's by default."),
]
Key = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="Certificate key: rsa-2048; the calibration's by default."),
]
Group = Annotated[
    str | None,
    typer.Option(metavar="GROUP", help="Key-exchange group; the calibration's by default."),
]
Suite = Annotated[
    str | None,
    typer.Option(metavar="SUITE", help="Cipher suite; the calibration's by default."),
]


def command(
    folder: Calibration = None,
    new: NewConnections = None,
    processors: Processors = None,
    resumed: Resumed = "0%",
    requests: Requests = 1,
    document: DocumentSize = None,
    objective: ObjectiveText = None,
    busy: Busy = BUSY_AT_MOST,
    tls: Tls = None,
    key: Key = None,
    group: Group = None,
    suite: Suite = None,
    as_json: AsJson = False,
    _version: Version = False,
) -> None:
    """Compute the processors for a load (--new), or the load for N processors (--processors).

    Uses the costs that `tlslab run calibrate --target SERVER` has measured.
    """
    from tlslab.cli import sizing

    if (new is None) == (processors is None):
        raise UsageError(
            f"--new and --processors are {'missing' if new is None else 'both given'}",
            "give --new RATE for the processors that a load takes, or "
            "--processors N for the load that they carry",
        )
    load = {"resumed": as_percentage(resumed, "--resumed"), "requests": str(requests)}
    if document is not None:
        load["document_bytes"] = str(as_bytes(document, "--size"))
    question = sizing.Question(
        rate=None if new is None else as_rate(new, "--new"),
        processors=processors,
        busy_at_most=as_share(busy, "--busy"),
        objective=None if objective is None else required_objective(objective),
        load=load,
        settings={"tls": tls, "key": key, "group": group, "suite": suite},
    )
    raise typer.Exit(sizing.plan(folder, question, as_json))
