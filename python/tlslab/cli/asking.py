"""The call of the engine's probe by the commands."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import conclude
from tlslab.cli.engine_error import engine_error
from tlslab.cli.values import as_place
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.lab.request import whom_to_trust
from tlslab.orphans import bound

EXIT_INTERRUPTED = 130

# The engine's names of options that are shorter here.
_ENGINE_FLAGS = {
    "--only": "--probe-only",
    "--connections": "--probe-connections",
    "--rate": "--probe-rate",
}

Place = Annotated[
    str,
    typer.Argument(metavar="HOST[:PORT]", help="Server to probe, or its URL; port 443 by default."),
]
ServerName = Annotated[
    str | None, typer.Option(help="Name for SNI and the certificate check; HOST by default.")
]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Do not check the certificate chains and names.")
]
Allowed = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST", help="Host to probe although its address is not loopback; repeatable."
    ),
]
Connections = Annotated[
    int | None, typer.Option(min=1, help="Maximum number of connections; 400 by default.")
]
Rate = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Maximum number of connections per second; 20 by default, no limit on loopback.",
    ),
]
Timeout = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Time limit of each connection; 5s by default."),
]


@dataclass(frozen=True)
class Asked:
    """The server to probe, and the options of the probe from a command line."""

    target: str
    sni: str | None
    ca: Path | None
    insecure: bool
    allow: tuple[str, ...]
    connections: int | None
    rate: int | None
    timeout: str | None


def ask(asked: Asked, only: str | None, as_json: bool) -> "subprocess.CompletedProcess[str]":
    """Runs the engine's probe. Raises UsageError, and typer.Exit on an interruption."""
    from tlslab.servers.programs import require_program

    whom_to_trust(asked.ca, insecure=False)
    options = {
        "--only": only,
        "--sni": asked.sni,
        "--ca": asked.ca,
        "--connections": asked.connections,
        "--rate": asked.rate,
        "--timeout": asked.timeout,
    }
    given = {_ENGINE_FLAGS.get(name, name): value for name, value in options.items()}
    arguments = [f"{name}={value}" for name, value in given.items() if value is not None]
    flags = [name for name, on in (("--json", as_json), ("--insecure", asked.insecure)) if on]
    allowed = [f"--allow={host}" for host in (*asked.allow, *read_allow_file())]
    place = f"--probe={as_place(asked.target)}"
    command = [*bound("KILL"), require_program("tlslab-load"), place]
    try:
        return subprocess.run(
            [*command, *arguments, *flags, *allowed],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except KeyboardInterrupt:
        raise typer.Exit(conclude("interrupted", EXIT_INTERRUPTED)) from None


def refuse_failure(ended: "subprocess.CompletedProcess[str]") -> None:
    """Raises the engine's error if it ended with one."""
    if ended.returncode == 0:
        return
    message, remedy = engine_error(ended.stderr)
    for name, flag in _ENGINE_FLAGS.items():
        message = message.replace(flag, name)
    kind = UsageError if ended.returncode == UsageError.exit_code else CannotRunError
    raise kind(message, remedy)
