"""The commands, put together."""

from typing import Annotated

import typer

from tlslab import __version__
from tlslab.cli import (
    compare,
    doctor,
    experiments,
    load,
    probe,
    report,
    run,
    scale,
    targets,
    validate,
)
from tlslab.cli.console import out

app = typer.Typer(
    help="A laboratory for TLS performance: what TLS settings cost, server and client apart.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(run.command)
app.command("report")(report.command)
app.command("compare")(compare.command)
app.command("probe")(probe.command)
app.command("scale")(scale.command)
app.command("validate")(validate.command)
app.command("targets")(targets.command)
app.command("doctor")(doctor.command)
app.command("experiments")(experiments.command)
app.command(
    "load", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)(load.command)


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"tlslab {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options that hold for all commands."""
