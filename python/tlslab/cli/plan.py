"""`tlslab plan`: how many processors does a load take, or what do N of them carry?"""

from dataclasses import asdict
from pathlib import Path

from tlslab.cli.options import AS_JSON, argument, option, options
from tlslab.cli.values import as_bytes, as_percentage, as_rate, as_share
from tlslab.domain.errors import UsageError
from tlslab.experiment.capacity import required_objective

# At this share of a processor's time there is room left for bursts.
BUSY_AT_MOST = "80%"

MIX = "The connections"

LIMIT_PROCESSORS = 1_000_000

LIMIT_REQUESTS = 1_000_000


@options
class Settings:
    """The TLS settings of the connections, by factor."""

    tls: str | None = option(
        "TLS version: 1.2, 1.3; the calibration's by default.", metavar="VERSION", panel=MIX
    )
    key: str | None = option(
        "Certificate key: rsa-2048; the calibration's by default.", metavar="KEY", panel=MIX
    )
    group: str | None = option(
        "Key-exchange group; the calibration's by default.", metavar="GROUP", panel=MIX
    )
    suite: str | None = option(
        "Cipher suite; the calibration's by default.", metavar="SUITE", panel=MIX
    )


EXAMPLE = "tlslab plan --new 5000/s --resumed 60%"


def command(
    *,
    folder: Path | None = argument(
        "Run folder of calibrate; the newest below runs/ by default.", metavar="DIR"
    ),
    new: str | None = option("Load in new connections per second: 5000/s, 5k/s.", metavar="RATE"),
    processors: int | None = option(
        "Number of processors.", metavar="N", min=1, max=LIMIT_PROCESSORS
    ),
    resumed: str = option(
        "Share of connections that resume a session.", default="0%", metavar="PERCENT"
    ),
    requests: int = option(
        "Number of requests on each connection.",
        "--requests-per-connection",
        default=1,
        metavar="N",
        min=1,
        max=LIMIT_REQUESTS,
    ),
    document: str | None = option(
        "Size of a response: 4k is 4,096 bytes; the calibration's by default.",
        "--size",
        metavar="BYTES",
        panel=MIX,
    ),
    objective: str | None = option(
        "Response time that whole connections must meet.", metavar="p99<50ms"
    ),
    busy: str = option(
        "Largest share of time that a processor is busy.",
        default=BUSY_AT_MOST,
        metavar="PERCENT",
        panel=MIX,
    ),
    settings: Settings,
    as_json: bool = AS_JSON,
) -> int:
    """Compute the processors for a load (--new), or the load for N processors (--processors).

    Uses the costs that `tlslab run calibrate --target SERVER` has measured.
    """
    from tlslab.cli import sizing

    _either(new, processors)
    question = sizing.Question(
        rate=None if new is None else as_rate(new, "--new"),
        processors=processors,
        busy_at_most=as_share(busy, "--busy"),
        objective=None if objective is None else required_objective(objective),
        load=_load(resumed, requests, document),
        settings=asdict(settings),
    )
    return sizing.plan(folder, question, as_json)


def _either(new: str | None, processors: int | None) -> None:
    if (new is None) == (processors is None):
        raise UsageError(
            f"--new and --processors are {'missing' if new is None else 'both given'}",
            "give --new RATE for the processors that a load takes, or "
            "--processors N for the load that they carry",
        )


def _load(resumed: str, requests: int, document: str | None) -> dict[str, str]:
    load = {"resumed": as_percentage(resumed, "--resumed"), "requests": str(requests)}
    if document is not None:
        load["document_bytes"] = str(as_bytes(document, "--size"))
    return load
