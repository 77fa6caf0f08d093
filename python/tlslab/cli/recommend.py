"""`tlslab recommend`: one configuration from a run, with its reason and its price."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from tlslab.cli.options import AS_JSON, DETAILS, argument, option
from tlslab.domain.grading import RECOMMENDING

if TYPE_CHECKING:
    from tlslab.domain.recommendation import Aim


class EmittedServer(StrEnum):
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


POLICIES = ", ".join(RECOMMENDING)

EXAMPLE = "tlslab recommend runs/groups-nginx --for nginx > tls.conf"


def command(
    folder: Path = argument("Run folder of groups or suites.", default=..., metavar="DIR"),
    server: EmittedServer = option(
        "Server for which to write the configuration.", "--for", default=...
    ),
    aim: AimName = option(
        "Quality to optimise, among the settings to which no policy objects.",
        default=AimName.throughput,
    ),
    policy: list[str] | None = option(
        f"Policy that counts; repeatable. Default: {POLICIES}.", metavar="NAME"
    ),
    file: Path | None = option("File for the configuration.", "--out", metavar="FILE"),
    details: bool = DETAILS,
    as_json: bool = AS_JSON,
) -> int:
    """Recommend a configuration based on a run, and write it to standard output.

    Reason, price and the Pareto set go to standard error. A setting to which a policy objects is
    never recommended. Ends with 1 if nothing in the run may be recommended.
    """
    from tlslab.cli.recommending import recommended

    today = datetime.now(UTC).date()
    asked = (folder, server.value, _AIMS[aim], policy or (), file, as_json)
    return recommended(*asked, today, details)
