"""The options of `tlslab prove`."""

from enum import StrEnum
from pathlib import Path

from tlslab.cli.options import (
    ALLOW,
    AUTHORITIES,
    BUDGET,
    DRY,
    INSECURE,
    LENGTH,
    MOST_SECONDS,
    OUT,
    RUNNING,
    SEED,
    SERVER_METRICS,
    STATUS,
    flag,
    option,
    options,
)
from tlslab.domain.command_line import READY_S, SETTLE_S
from tlslab.domain.grading import RECOMMENDING

# The client measured by default: a current browser, as most visitors of a public server use one.
CLIENT = "Chromium 156"

POLICIES = ", ".join(RECOMMENDING)


SIDES = "The two configurations"

COUNTS = "What counts"


class ReadServer(StrEnum):
    """Servers whose configuration files can be read."""

    nginx = "nginx"
    apache = "apache"
    haproxy = "haproxy"


@options
class Options:
    """What is proved, and how; fields that the request for a run has too have its names."""

    server: ReadServer | None = option("Server whose configuration files these are.", "--for")
    baseline: Path | None = option(
        "Present configuration: the server's file, the part of it with TLS, or the output of "
        "nginx -T or apachectl -t -D DUMP_CONFIG. Only TLS settings are taken from it.",
        metavar="FILE",
    )
    candidate: Path | None = option(
        "Configuration to prove: a file of the same form, or a run folder by which "
        "`tlslab recommend` chooses. By default the policies choose.",
        metavar="FILE|DIR",
    )
    server_name: str | None = option(
        "Name of the server block, virtual host or frontend, if a file has several.",
        metavar="NAME",
        panel=SIDES,
    )
    key: list[str] | None = option(
        "Kind of the baseline's certificate key, if its file cannot be read: rsa-2048; repeatable.",
        metavar="KEY",
        panel=SIDES,
    )
    keep_certificate: bool = flag(
        "Keep the certificates in the default candidate. Without this option it has one with "
        "an ECDSA P-256 key beside an RSA one.",
        "--keep-certificate",
        panel=SIDES,
    )
    policy: list[str] | None = option(
        "Policy that chooses the candidate; repeatable. Default: " + POLICIES,
        metavar="NAME",
        panel=SIDES,
    )
    url: str | None = option(
        "Live server instead of files; needs --apply and --revert.", metavar="URL"
    )
    apply_: str | None = option(
        "Command that gives the live server the candidate configuration.",
        "--apply",
        metavar="COMMAND",
        panel=RUNNING,
    )
    revert: str | None = option(
        "Command that restores the present configuration of the live server. It always runs, "
        "even after kill -9 of tlslab, and may run twice.",
        metavar="COMMAND",
        panel=RUNNING,
    )
    settle_s: float = option(
        "Pause after --apply and --revert, in seconds.",
        "--settle",
        default=SETTLE_S,
        min=0,
        max=MOST_SECONDS,
        metavar="SECONDS",
        panel=RUNNING,
    )
    ready_s: float = option(
        "Time limit for the server to be ready after that pause, in seconds.",
        "--ready",
        default=READY_S,
        min=0,
        max=MOST_SECONDS,
        metavar="SECONDS",
        panel=RUNNING,
    )
    allow: list[str] | None = ALLOW
    authority: Path | None = AUTHORITIES
    insecure: bool = INSECURE
    server_metrics: str | None = SERVER_METRICS
    expect_status: str | None = STATUS
    client: str = option(
        "Known client whose connections are measured.", default=CLIENT, metavar="NAME", panel=COUNTS
    )
    returning: str = option(
        "Share of the connections that returning clients make.",
        default="50%",
        metavar="PERCENT",
        panel=COUNTS,
    )
    margin: str = option(
        "Largest difference that counts as no difference.",
        default="5%",
        metavar="PERCENT",
        panel=COUNTS,
    )
    may_lose: list[str] | None = option(
        "Known client that may fail to connect with the candidate; repeatable.",
        metavar="NAME",
        panel=COUNTS,
    )
    quick: bool = flag(
        "Make six short blocks, which find large differences in a minute.", "--quick"
    )
    blocks: int | None = option(
        "Exact number of passes over both configurations.",
        metavar="N",
        min=1,
        max=1000,
        panel=LENGTH,
    )
    budget: str | None = BUDGET
    dry_run: bool = DRY
    out: Path | None = OUT
    seed: int | None = SEED
