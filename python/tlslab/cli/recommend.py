"""`tlslab recommend`: one configuration from a run, with its reason and its price."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tlslab.cli.options import AsJson, Details, Version
from tlslab.domain.grading import RECOMMENDING

if TYPE_CHECKING:
    from tlslab.advice.choice import Aim


class Server(StrEnum):
    """Servers for which a configuration can be written."""

    nginx = "nginx"
    apache = "apache"
    haproxy = "haproxy"
    node = "node"
    caddy = "caddy"
    tomcat = "tomcat"
    jvm = "jvm"
    rwserve = "rwserve"
    domino = "domino"
    openssl = "openssl"


class AimName(StrEnum):
    """The qualities that a recommendation can optimise."""

    throughput = "throughput"
    latency = "latency"
    security = "security"
    bytes = "bytes"


_AIMS: "dict[AimName, Aim]" = {
    AimName.throughput: "throughput",
    AimName.latency: "latency",
    AimName.security: "security",
    AimName.bytes: "bytes",
}


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder of groups or suites.")],
    server: Annotated[
        Server, typer.Option("--for", help="Server for which to write the configuration.")
    ],
    aim: Annotated[
        AimName,
        typer.Option(help="Quality to optimise, among the settings to which no policy objects."),
    ] = AimName.throughput,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Policy that counts; repeatable. Default: {', '.join(RECOMMENDING)}.",
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="File for the configuration.")
    ] = None,
    details: Details = False,
    as_json: AsJson = False,
    _version: Version = False,
) -> None:
    """Recommend a configuration based on a run, and write it to standard output.

    Reason, price and the Pareto set go to standard error. A setting to which a policy objects is
    never recommended. Ends with 1 if nothing in the run may be recommended.
    """
    from tlslab.cli.recommending import recommended

    today = datetime.now(UTC).date()
    asked = (folder, server.value, _AIMS[aim], policy or (), file, as_json)
    raise typer.Exit(recommended(*asked, today, details))
