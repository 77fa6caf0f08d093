"""`tlslab probe`: what does a server accept?"""

import sys
from typing import Annotated

import typer

from tlslab.cli.asking import (
    Allowed,
    Asked,
    Connections,
    Insecure,
    Place,
    Rate,
    ServerName,
    Timeout,
    ask,
    refuse_failure,
)
from tlslab.cli.console import conclude
from tlslab.cli.options import AsJson, Authorities, Version


def command(
    target: Place,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC,...",
            help="Topics to probe, all by default: versions, suites, groups, signature_schemes, "
            "certificates, alpn, resumption, compression, renegotiation, protections.",
        ),
    ] = None,
    as_json: AsJson = False,
    sni: ServerName = None,
    ca: Authorities = None,
    insecure: Insecure = False,
    allow: Allowed = None,
    connections: Connections = None,
    rate: Rate = None,
    timeout: Timeout = None,
    _version: Version = False,
) -> None:
    """Find out what a server accepts, by a series of short connections, one at a time."""
    asked = Asked(target, sni, ca, insecure, tuple(allow or ()), connections, rate, timeout)
    # The engine has sanitised all text from the server.
    ended = ask(asked, only=only, as_json=as_json)
    sys.stdout.write(ended.stdout)
    refuse_failure(ended)
    raise typer.Exit(conclude("the server was asked", 0))
