"""`tlslab probe`: what does a server accept?"""

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import typer

from tlslab.cli.asking import HOSTS, PLACE, Asked, as_record, ask
from tlslab.cli.console import conclude, write_utf8
from tlslab.cli.hosts import Ended, ask_hosts
from tlslab.cli.options import AS_JSON, option

EXAMPLE = "tlslab probe localhost:8443"


class ProbeFormat(StrEnum):
    """The forms of what was found."""

    text = "text"
    csv = "csv"
    json = "json"


def command(
    *,
    target: str | None = PLACE,
    hosts: Path | None = HOSTS,
    only: str | None = option(
        "Topics to probe, all by default: versions, suites, groups, signature_schemes, "
        "certificates, alpn, resumption, compression, renegotiation, protections.",
        metavar="TOPIC,...",
    ),
    format_: ProbeFormat = option(
        "Format of standard output; csv has one line per accepted item.",
        "--format",
        default=ProbeFormat.text,
    ),
    as_json: bool = AS_JSON,
    asked: Asked,
) -> int:
    """Find out what a server accepts, by a series of short connections, one at a time."""
    form = ProbeFormat.json if as_json else format_

    def ask_one(host: str) -> Ended[str]:
        said = ask(host, asked, only, as_json=form is not ProbeFormat.text)
        if form is ProbeFormat.text:
            # The engine has sanitised all text from the server.
            sys.stdout.write(said if hosts is None else f"{said}\n")
        return Ended(host, said, "the server was asked", 0)

    ended, reason, code = ask_hosts(target, hosts, ask_one)
    if form is ProbeFormat.csv:
        _print_csv(ended)
    elif form is ProbeFormat.json:
        found = [each.failure() if each.found is None else json.loads(each.found) for each in ended]
        typer.echo(json.dumps(found[0] if hosts is None else found, allow_nan=False))
    return conclude(reason, code)


def _print_csv(ended: Sequence[Ended[str]]) -> None:
    from tlslab.report.probe import probe_csv

    write_utf8(
        probe_csv(
            (each.host, each.reason if each.found is None else as_record(each.found))
            for each in ended
        )
    )
