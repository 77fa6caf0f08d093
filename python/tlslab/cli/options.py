"""Options that several commands have in common."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from tlslab import __version__
from tlslab.experiment import shipped
from tlslab.model.deployment import MANAGED_SERVERS
from tlslab.model.errors import UsageError

# A week.
LIMIT_SECONDS = 7 * 86_400

SERVERS = ", ".join(MANAGED_SERVERS)

EXPERIMENTS = ", ".join(shipped())

# `host:port`, an address, or a name with a dot, with a path perhaps: what only a server can be.
_HOST = r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+"
_PLACE = re.compile(
    rf"(?:(?:{_HOST}):\d{{1,5}}|\[[0-9A-Fa-f:.]+\]|localhost|[^/\s,:]+\.[^/\s,:]+)(/\S*)?"
)


def complete_target(incomplete: str) -> Iterator[str]:
    """The servers whose names begin like this."""
    return (name for name in MANAGED_SERVERS if name.startswith(incomplete))


def complete_experiment(incomplete: str) -> Iterator[str]:
    """The shipped experiments whose names begin like this."""
    return (name for name in shipped() if name.startswith(incomplete))


def as_url(target: str) -> str:
    """A target as the lab knows it: a name as it is; `localhost:8443` is an HTTPS URL.

    Raises UsageError for a URL of another scheme.
    """
    scheme, sign, rest = target.partition("://")
    if sign and scheme.lower() != "https":
        raise UsageError(
            f"{target}: only https:// can be measured",
            f"write https://{rest}, with the port that speaks TLS",
        )
    if "://" in target or target in MANAGED_SERVERS or not _PLACE.fullmatch(target):
        return target
    return f"https://{target}" + ("" if "/" in target else "/")


def as_place(target: str) -> str:
    """`HOST[:PORT]` of a target that may be an HTTPS URL. Raises UsageError."""
    if "://" not in target:
        return target.partition("/")[0]
    parts = urlsplit(target)
    if parts.scheme != "https" or not parts.netloc:
        raise UsageError(
            f"{target}: only a server that speaks TLS can be asked",
            "give HOST[:PORT] or https://HOST[:PORT]/",
        )
    return parts.netloc


def as_share(text: str, option: str) -> float:
    """`3%` as 0.03. Raises UsageError for what is not a percentage above 0 and up to 100."""
    number, sign, rest = text.strip().partition("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = -1.0
    if not sign or rest or not 0 < share <= 1:
        raise UsageError(f"{option} {text}: not a percentage", "write it like 3% or 0.5%")
    return share


def as_seconds(text: str, option: str) -> float:
    """`90s`, `10m` or `2h` in seconds. Raises UsageError for anything else, and for nothing."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    seconds = float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]] if found else 0.0
    if not 1 <= seconds <= LIMIT_SECONDS:
        raise UsageError(f"{option} {text}: not a time", "write it like 90s, 10m or 2h, up to 168h")
    return seconds


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
Allow = Annotated[list[str] | None, typer.Option(metavar="HOST", help="A host that may be loaded.")]
Authorities = Annotated[
    Path | None, typer.Option("--ca", help="PEM file of the authorities to trust.")
]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Trust any certificate; signatures are checked.")
]
Status = Annotated[
    str | None,
    typer.Option(
        metavar="2xx|302|401|any",
        help="The HTTP status that a response has to have, or several: 200,302 (2xx by default).",
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
        help="A generator that is lost: the trial fails, or is kept without it, as invalid.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON, and nothing else.")]

Details = Annotated[
    bool, typer.Option("--details", help="As text: all tables and lists, however long.")
]
Version = Annotated[
    bool,
    typer.Option(
        "-V", "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
]
