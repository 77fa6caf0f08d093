"""`tlslab completion`: commands, options, targets and experiments by the Tab key."""

import os
from enum import StrEnum

import typer
from typer import completion

from tlslab.cli.options import argument

COMPLETE = "_TLSLAB_COMPLETE"


class Shell(StrEnum):
    """Shells that complete."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


EXAMPLE = "tlslab completion bash > ~/.local/share/bash-completion/completions/tlslab"


def command(
    shell: Shell = argument("Shell: bash, zsh or fish.", default=...),
) -> int:
    """Print the completion script of a shell: `source <(tlslab completion bash)`."""
    typer.echo(
        completion.get_completion_script(  # type: ignore[attr-defined]
            prog_name="tlslab", complete_var=COMPLETE, shell=shell.value
        )
    )
    return 0


def prepare_completion() -> None:
    """Registers the shells with the parser, if a shell asks for a completion.

    typer does this only for applications with its own two options for completion.
    """
    if COMPLETE in os.environ:
        completion.get_completion_inspect_parameters()
