"""Options that several commands share."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tlslab import __version__
from tlslab.experiment import shipped
from tlslab.model.deployment import MANAGED_SERVERS

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
        help=f"{SERVERS}, or a running server: https://HOST[:PORT]/PATH or HOST:PORT.",
        autocompletion=complete_target,
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST", help="A host beyond loopback that may be loaded; repeatable."),
]
Authorities = Annotated[
    Path | None,
    typer.Option("--ca", metavar="FILE", help="PEM file of the authorities to trust."),
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure", help="Trust any certificate; the handshake's signature is still verified."
    ),
]
Status = Annotated[
    str | None,
    typer.Option(
        metavar="2xx|302|401|any",
        help="The HTTP status that a response has to have, or several: 200,302 (2xx by default).",
    ),
]
ServerMetrics = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="A node_exporter on the host of a running server, for its processor time: "
        "http://HOST:9100/metrics.",
    ),
]
Generators = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto|ray://HOST:PORT",
        help="Several load generators: N of them, on the Ray cluster of RAY_ADDRESS or else on "
        "this machine; or a cluster's hosts, of which a search takes as many as it needs.",
    ),
]
FAIL = "fail"
OnLostHost = Annotated[
    str,
    typer.Option(
        metavar="fail|keep",
        help="When a generator is lost: fail the trial, or keep it without that generator, as "
        "invalid.",
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="End within this time (90s, 10m, 2h), or when settled; with a fixed plan as many "
        "blocks as fit.",
    ),
]
Dry = Annotated[
    bool, typer.Option("--dry-run", help="Show the plan and its length; start and write nothing.")
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", min=0, help="The seed of the trials' order.")
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Build or fetch what the run lacks, without asking.")
]
RunFolderPath = Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="The run folder to make.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")
]
Details = Annotated[
    bool, typer.Option("--details", help="As text: all tables and lists, however long.")
]
Version = Annotated[
    bool,
    typer.Option(
        "-V", "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
]
