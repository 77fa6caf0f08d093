"""The call of the engine's probe by the commands."""

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tlslab.cli.allow import read_allow_file
from tlslab.cli.options import AUTHORITIES, argument, flag, option, options
from tlslab.cli.values import as_place
from tlslab.domain.errors import CannotRunError, TlslabError, UsageError
from tlslab.orphans import bound

if TYPE_CHECKING:
    from tlslab.contract.probe import ProbeRecord

PROBING = "How it is probed"

PLACE = argument("Server to probe, or its URL; port 443 by default.", metavar="HOST[:PORT]")
HOSTS = option("File of servers, one per line, to probe one after the other.", metavar="FILE")


@options
class Asked:
    """How a server is probed."""

    starttls: str | None = option(
        "Turn to TLS from plain text: smtp, imap, pop3, postgres, ldap. The default port is then "
        "25, 143, 110, 5432 or 389.",
        metavar="SERVICE",
    )
    sni: str | None = option(
        "Name for SNI and the certificate check; HOST by default.", panel=PROBING
    )
    ca: Path | None = AUTHORITIES
    insecure: bool = flag(
        "Do not check the certificate chains and names.", "--insecure", panel=PROBING
    )
    allow: list[str] | None = option(
        "Host to probe although its address is not loopback; repeatable.",
        metavar="HOST",
        panel=PROBING,
    )
    connections: int | None = option(
        "Maximum number of connections; 400 by default.", min=1, panel=PROBING
    )
    rate: int | None = option(
        "Maximum number of connections per second; 20 by default, no limit on loopback.",
        min=1,
        panel=PROBING,
    )
    timeout: str | None = option(
        "Time limit of each connection; 5s by default.", metavar="TIME", panel=PROBING
    )


def ask(target: str, asked: Asked, only: str | None, as_json: bool) -> str:
    """The standard output of the engine's probe.

    Raises UsageError and CannotRunError, also for the engine's errors.
    """
    from tlslab.lab.request import whom_to_trust
    from tlslab.servers.programs import require_program

    whom_to_trust(asked.ca, insecure=False)
    valued = {
        "--only": only,
        "--starttls": asked.starttls,
        "--sni": asked.sni,
        "--ca": asked.ca,
        "--connections": asked.connections,
        "--rate": asked.rate,
        "--timeout": asked.timeout,
    }
    switches = (("--json", as_json), ("--insecure", asked.insecure))
    arguments = [
        "probe",
        *(f"{name}={value}" for name, value in valued.items() if value is not None),
        *(name for name, on in switches if on),
        *(f"--allow={host}" for host in (*(asked.allow or ()), *read_allow_file())),
        "--",
        as_place(target),
    ]
    ended = subprocess.run(
        [*bound("KILL"), require_program("tlslab-load"), *arguments],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if ended.returncode:
        raise _failure(ended)
    return ended.stdout


def as_record(said: str) -> "ProbeRecord":
    """The record in the engine's JSON. Raises CannotRunError."""
    from tlslab.contract.probe import ProbeRecord
    from tlslab.lab.store import from_json

    try:
        record = json.loads(said)
    except ValueError:
        raise CannotRunError("the engine's record cannot be read") from None
    return from_json(record, ProbeRecord)


def _failure(ended: "subprocess.CompletedProcess[str]") -> TlslabError:
    """The engine's error: its JSON object on standard output, or its line on standard error."""
    try:
        said = json.loads(ended.stdout)
        message, remedy = said["message"], said["remedy"]
    except (ValueError, KeyError):
        # Without --json; the line ends with the remedy and the exit code.
        line = ended.stderr.strip().removeprefix("tlslab-load: ").rpartition(": exit ")[0]
        message, separator, remedy = line.rpartition("; ")
        if not separator:
            message, remedy = line or "the engine said nothing", ""
    kind = UsageError if ended.returncode == UsageError.exit_code else CannotRunError
    return kind(message, remedy)
