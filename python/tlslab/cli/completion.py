"""`tlslab completion`: commands, options, targets and experiments by the Tab key."""

import os
from enum import StrEnum
from typing import Annotated

import typer
from typer import completion

from tlslab.cli.options import Version

COMPLETE = "_TLSLAB_COMPLETE"


class Shell(StrEnum):
    """Shells that complete."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def command(
    shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")],
    _version: Version = False,
) -> None:
    """Print the completion script of a shell: `source <(tlslab completion bash)`."""
    typer.echo(
        completion.get_completion_script(  # type: ignore[attr-defined]
            prog_name="tlslab", complete_var=COMPLETE, shell=shell.value
        )
    )


def prepare_completion() -> None:
    """Makes the shells known to the parser, where it is a shell that asks.

    typer does so by itself only for applications that have its own two options for it.
    """
    if COMPLETE in os.environ:
        completion.get_completion_inspect_parameters()
