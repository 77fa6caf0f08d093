"""`tlslab load`: the engine as it is, with the lab's accounting of the machine beside it."""

from typing import Annotated

import typer


def command(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[--server-metrics URL] [--generators N] [--live] URL ...",
            help="As for tlslab-load: tlslab load -h has them. --server-metrics: a node_exporter "
            "on the server's host, for its processor time. --metrics: Prometheus metrics of the "
            "run. --live: a page that shows it. --generators, --on-lost-host: as for tlslab run.",
        ),
    ] = None,
) -> None:
    """Load a server with tlslab-load, and report what the whole machine did meanwhile."""
    from tlslab.cli.loading import load

    raise typer.Exit(load(arguments or ["--help"]))
