"""`tlslab probe`: what does a server accept?"""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import conclude
from tlslab.cli.engine_error import engine_error
from tlslab.cli.options import AsJson, Authorities, Version, as_place
from tlslab.lab.programs import require_program
from tlslab.lab.trust import whom_to_trust
from tlslab.model.errors import CannotRunError, UsageError
from tlslab.targets.guard import bound

EXIT_INTERRUPTED = 130

# The engine's names of options that have shorter names here.
_ENGINE_FLAGS = {
    "--only": "--probe-only",
    "--connections": "--probe-connections",
    "--rate": "--probe-rate",
}


def command(
    target: Annotated[
        str, typer.Argument(metavar="HOST[:PORT]", help="Or a URL; by default port 443.")
    ],
    only: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC,...",
            help="versions, suites, groups, signature_schemes, certificates, alpn, resumption, "
            "compression, renegotiation, protections.",
        ),
    ] = None,
    as_json: AsJson = False,
    sni: Annotated[str | None, typer.Option(help="The name to ask for, if not HOST.")] = None,
    ca: Authorities = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Do not check the certificate chains.")
    ] = False,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="A host that may be probed.")
    ] = None,
    connections: Annotated[
        int | None, typer.Option(min=1, help="Connections at most (by default 400).")
    ] = None,
    rate: Annotated[
        int | None,
        typer.Option(min=1, help="Connections a second (by default 20; any number on loopback)."),
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="For each connection (by default 5s).")
    ] = None,
    _version: Version = False,
) -> None:
    """Find out what a server accepts, by few and short connections."""
    options = {
        "--only": only,
        "--sni": sni,
        "--ca": _checked(ca),
        "--connections": connections,
        "--rate": rate,
        "--timeout": timeout,
    }
    given = {_ENGINE_FLAGS.get(name, name): value for name, value in options.items()}
    arguments = [f"{name}={value}" for name, value in given.items() if value is not None]
    hosts = (*(allow or ()), *read_allow_file())
    flags = [name for name, on in (("--json", as_json), ("--insecure", insecure)) if on]
    allowed = [f"--allow={host}" for host in hosts]
    _run([f"--probe={as_place(target)}", *arguments, *flags, *allowed])


def _checked(authority: Path | None) -> Path | None:
    """The file of the authorities, which holds a certificate. Raises UsageError."""
    whom_to_trust(authority, insecure=False)
    return authority


def _run(arguments: list[str]) -> None:
    """Runs the engine and prints its findings; raises the engine's error."""
    program = require_program("tlslab-load")
    try:
        ended = subprocess.run(
            [*bound("KILL"), program, *arguments],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except KeyboardInterrupt:
        raise typer.Exit(conclude("interrupted", EXIT_INTERRUPTED)) from None
    # The engine has sanitised all that a server said.
    sys.stdout.write(ended.stdout)
    if ended.returncode != 0:
        message, remedy = engine_error(ended.stderr)
        for name, flag in _ENGINE_FLAGS.items():
            message = message.replace(flag, name)
        kind = UsageError if ended.returncode == UsageError.exit_code else CannotRunError
        raise kind(message, remedy)
    raise typer.Exit(conclude("the server was asked", 0))
