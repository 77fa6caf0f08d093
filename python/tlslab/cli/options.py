"""Options that several commands share."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

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


# Panels of options that `-h` leaves to `--help-all`; an option without a panel matters.
LENGTH = "How long it runs"
PRINTED = "What it prints and writes"
RUNNING = "Servers that run already"
SEVERAL = "Several generators"
FINE = "Further options"


def option(
    words: str, *names: str, default: Any = None, panel: str | None = None, **more: Any
) -> Any:
    """The default of a parameter that is an option: what it is for, and what typer takes.

    `names`: by default the parameter's own name. Without a default it must be given: `...`.
    `panel`: its place in the help of all options; without one it is in the short help, too.
    """
    return typer.Option(default, *names, help=words, rich_help_panel=panel, **more)


def flag(words: str, *names: str, panel: str | None = None) -> Any:
    """The default of a parameter that is an option without a value."""
    return option(words, *names, default=False, panel=panel)


def argument(words: str, default: Any = None, **more: Any) -> Any:
    """The default of a parameter that is an argument."""
    return typer.Argument(default, help=words, **more)


_Options = TypeVar("_Options")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(declared: type[_Options]) -> type[_Options]:
    """A dataclass whose fields are options; their defaults are those of the options."""
    for name in declared.__annotations__:
        info = getattr(declared, name)
        setattr(declared, name, field(default=info.default, metadata={"option": info}))
    return dataclass(frozen=True, kw_only=True)(declared)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tlslab {__version__}")
        raise typer.Exit


TARGET = option(
    f"Server to start ({SERVERS}), or a running one: https://HOST[:PORT]/PATH or HOST:PORT.",
    default="reference",
    autocompletion=complete_target,
)
ALLOW = option(
    "Host to load although its address is not loopback; repeatable.",
    metavar="HOST",
    panel=RUNNING,
)
AUTHORITIES = option(
    "PEM file of the certificate authorities to trust.", "--ca", metavar="FILE", panel=RUNNING
)
INSECURE = flag(
    "Trust any certificate; the handshake signature is still verified.",
    "--insecure",
    panel=RUNNING,
)
STATUS = option(
    "HTTP status that a response must have, or several: 200,302; 2xx by default.",
    metavar="2xx|302|401|any",
    panel=RUNNING,
)
SERVER_METRICS = option(
    "URL of a node_exporter on the host of a running server, for the server's processor "
    "time: http://HOST:9100/metrics.",
    metavar="URL",
    panel=RUNNING,
)
GENERATORS = option(
    "Load from several generators. N: this number, on the Ray cluster of RAY_ADDRESS, or "
    "else on this machine. auto, or an address: all hosts of a Ray cluster; a capacity "
    "experiment takes as many as it needs.",
    metavar="N|auto|ray://HOST:PORT",
    panel=SEVERAL,
)
FAIL = "fail"
ON_LOST_HOST = option(
    "If a generator is lost: fail the trial, or finish it with the others and keep it as invalid.",
    default=FAIL,
    metavar="fail|keep",
    panel=SEVERAL,
)
BUDGET = option(
    "Time limit: 90s, 10m, 2h. A run that ends when it is settled makes five blocks in any case.",
    metavar="TIME",
)
DRY = flag("Print the plan and its duration; start and write nothing.", "--dry-run", panel=PRINTED)
SEED = option("Seed of the order of the trials; random by default.", metavar="N", min=0, panel=FINE)
YES = flag("Build or fetch what the run lacks without asking.", "--yes", "-y", panel=FINE)
RUN_FOLDER = argument("Run folder.", default=..., metavar="DIR")
OUT = option("Run folder to create.", "--out", metavar="DIR", panel=PRINTED)
AS_JSON = flag("Print JSON, and nothing else, to standard output.", "--json", panel=PRINTED)
_DETAILS = "Print all tables, warnings and lists, instead of one screen."
DETAILS = flag(_DETAILS, "--details")


@options
class Output:
    """What a run prints at its end."""

    details: bool = flag(_DETAILS, "--details", panel=PRINTED)
    as_json: bool = AS_JSON


def version(panel: str | None = None) -> Any:
    """The option that prints the version."""
    return option(
        "Print the version and exit.",
        "-V",
        "--version",
        default=False,
        panel=panel,
        callback=_show_version,
        is_eager=True,
    )
