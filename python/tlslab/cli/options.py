"""Options that several commands share."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tlslab import __version__
from tlslab.domain.deployment import MANAGED_SERVERS
from tlslab.experiment import shipped

# The longest time of an option in seconds: an hour.
MOST_SECONDS = 3600

SERVERS = ", ".join(MANAGED_SERVERS)

EXPERIMENTS = ", ".join(shipped())


def complete_target(incomplete: str) -> Iterator[str]:
    """The servers whose names start with this text."""
    return (name for name in MANAGED_SERVERS if name.startswith(incomplete))


def complete_experiment(incomplete: str) -> Iterator[str]:
    """The shipped experiments whose names start with this text."""
    return (name for name in shipped() if name.startswith(incomplete))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tlslab {__version__}")
        raise typer.Exit


Target = Annotated[
    str,
    typer.Option(
        help=f"Server to start ({SERVERS}), or a running one: https://HOST[:PORT]/PATH or "
        "HOST:PORT.",
        autocompletion=complete_target,
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST", help="Host to load although its address is not loopback; repeatable."
    ),
]
Authorities = Annotated[
    Path | None,
    typer.Option("--ca", metavar="FILE", help="PEM file of the certificate authorities to trust."),
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure", help="Trust any certificate; the handshake signature is still verified."
    ),
]
Status = Annotated[
    str | None,
    typer.Option(
        metavar="2xx|302|401|any",
        help="HTTP status that a response must have, or several: 200,302; 2xx by default.",
    ),
]
ServerMetrics = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="URL of a node_exporter on the host of a running server, for the server's processor "
        "time: http://HOST:9100/metrics.",
    ),
]
Generators = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto|ray://HOST:PORT",
        help="Load from several generators. N: this number, on the Ray cluster of RAY_ADDRESS, or "
        "else on this machine. auto, or an address: all hosts of a Ray cluster; a capacity "
        "experiment takes as many as it needs.",
    ),
]
FAIL = "fail"
OnLostHost = Annotated[
    str,
    typer.Option(
        metavar="fail|keep",
        help="If a generator is lost: fail the trial, or finish it with the others and keep it as "
        "invalid.",
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Start no block that would end after this time: 90s, 10m, 2h. A run that ends when "
        "its comparisons are settled makes five blocks at least.",
    ),
]
Dry = Annotated[
    bool,
    typer.Option("--dry-run", help="Print the plan and its duration; start and write nothing."),
]
Seed = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, help="Seed of the order of the trials; random by default."),
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Build or fetch what the run lacks without asking.")
]
RunFolderPath = Annotated[Path, typer.Argument(metavar="DIR", help="Run folder.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Run folder to create.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON, and nothing else, to standard output.")
]
Details = Annotated[
    bool, typer.Option("--details", help="Print all tables and lists of the text in full.")
]
Version = Annotated[
    bool,
    typer.Option(
        "-V", "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
    ),
]
