"""The options of `tlslab prove` that no other command has."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Server(StrEnum):
    """Servers whose configuration files can be read."""

    nginx = "nginx"


ServerOption = Annotated[
    Server | None, typer.Option("--for", help="Whose configuration files they are.")
]
Baseline = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The present configuration: a file with ssl_* directives, a server block, or what "
        "nginx -T shows. Only its TLS is taken.",
    ),
]
Candidate = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE|DIR",
        help="The configuration to prove: a file of the same form, or a run folder for what "
        "`tlslab recommend` chooses. By default what the policies recommend.",
    ),
]
ServerName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The server block to take, where a file has several."),
]
Keys = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY",
        help="The key of the baseline's certificate, where its file cannot be read: rsa-2048; "
        "repeatable.",
    ),
]
KeepCertificate = Annotated[
    bool,
    typer.Option(
        "--keep-certificate",
        help="The default candidate keeps the certificates; otherwise it has one with an ECDSA "
        "P-256 key beside an RSA one.",
    ),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Only these policies choose the candidate; repeatable."),
]
LiveUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="A live server instead of files, with both commands."),
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
        help="Command that gives the live server its present configuration back. It runs in any "
        "case, also after kill -9, and may run twice.",
    ),
]
Settle = Annotated[
    float,
    typer.Option(
        min=0,
        metavar="SECONDS",
        help="How long the server is left alone after --apply or --revert.",
    ),
]
Ready = Annotated[
    float,
    typer.Option(
        min=0, metavar="SECONDS", help="The longest that the server may then take to be ready."
    ),
]
Client = Annotated[
    str, typer.Option(metavar="NAME", help="The known client whose connections are measured.")
]
Returning = Annotated[
    str,
    typer.Option(metavar="PERCENT", help="The share of connections that returning clients make."),
]
Margin = Annotated[
    str,
    typer.Option(
        metavar="PERCENT", help="The largest difference that still counts as no difference."
    ),
]
MayLose = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A known client that may fail to connect with the candidate; repeatable.",
    ),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Short measurements: large differences in a minute.")
]
Blocks = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=1000, help="Exactly N passes over both configurations."),
]
