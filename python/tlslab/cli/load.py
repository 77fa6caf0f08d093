"""`tlslab load`: the engine as it is, with the lab's accounting of the machine beside it."""

from typing import Annotated

import typer


def command(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[--server-metrics URL] [--generators N] [--live] URL ...",
            help="Arguments of tlslab-load; tlslab load -h lists them. In addition, as for tlslab "
            "run: --server-metrics, --metrics, --live, --generators, --on-lost-host.",
        ),
    ] = None,
) -> None:
    """Load a server with tlslab-load; also report the processor time of server and machine."""
    from tlslab.cli.load_run import load

    raise typer.Exit(load(arguments or ["--help"]))
