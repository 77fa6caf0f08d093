"""`tlslab completion`: commands, options, targets and experiments by the tabulator key."""

from enum import StrEnum
from typing import Annotated

import typer
from typer import completion

from tlslab.cli.options import Version


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
            prog_name="tlslab", complete_var="_TLSLAB_COMPLETE", shell=shell.value
        )
    )
