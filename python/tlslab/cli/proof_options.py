"""The options of `tlslab prove` that no other command has."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tlslab.cli.options import MOST_SECONDS
from tlslab.domain.grading import RECOMMENDING

# The client measured by default: a current browser, as most visitors of a public server use one.
CLIENT = "Chromium 156"


class Server(StrEnum):
    """Servers whose configuration files can be read."""

    nginx = "nginx"


ServerOption = Annotated[
    Server | None, typer.Option("--for", help="Server whose configuration files these are.")
]
Baseline = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Present configuration: a file with ssl_* directives, a server block, or the output "
        "of nginx -T. Only TLS settings are taken from it.",
    ),
]
Candidate = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE|DIR",
        help="Configuration to prove: a file of the same form, or a run folder by which "
        "`tlslab recommend` chooses. By default the policies choose.",
    ),
]
ServerName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Name of the server block, if a file has several."),
]
Keys = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY",
        help="Kind of the baseline's certificate key, if its file cannot be read: rsa-2048; "
        "repeatable.",
    ),
]
KeepCertificate = Annotated[
    bool,
    typer.Option(
        "--keep-certificate",
        help="Keep the certificates in the default candidate. Without this option it has one with "
        "an ECDSA P-256 key beside an RSA one.",
    ),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Policy that chooses the candidate; repeatable. Default: " + ", ".join(RECOMMENDING),
    ),
]
LiveUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Live server instead of files; needs --apply and --revert."),
]
Apply = Annotated[
    str | None,
    typer.Option(
        "--apply",
        metavar="COMMAND",
        help="Command that gives the live server the candidate configuration.",
    ),
]
Revert = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="Command that restores the present configuration of the live server. It always runs, "
        "even after kill -9 of tlslab, and may run twice.",
    ),
]
Settle = Annotated[
    float,
    typer.Option(
        min=0,
        max=MOST_SECONDS,
        metavar="SECONDS",
        help="Pause after --apply and --revert, in seconds.",
    ),
]
Ready = Annotated[
    float,
    typer.Option(
        min=0,
        max=MOST_SECONDS,
        metavar="SECONDS",
        help="Time limit for the server to be ready after that pause, in seconds.",
    ),
]
Client = Annotated[
    str, typer.Option(metavar="NAME", help="Known client whose connections are measured.")
]
Returning = Annotated[
    str,
    typer.Option(metavar="PERCENT", help="Share of the connections that returning clients make."),
]
Margin = Annotated[
    str,
    typer.Option(metavar="PERCENT", help="Largest difference that counts as no difference."),
]
MayLose = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Known client that may fail to connect with the candidate; repeatable.",
    ),
]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick", help="Make six short blocks, which find large differences in a minute."
    ),
]
Blocks = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, max=1000, help="Exact number of passes over both configurations."
    ),
]
