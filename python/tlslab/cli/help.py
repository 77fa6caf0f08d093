"""Help of one screen: the options that matter, and all of them with --help-all.

An option without a panel is one that matters; the others stand in their panels.
"""

import copy
from typing import Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text
from typer.core import TyperCommand

from tlslab.cli.options import option

_ALL = "tlslab.help-all"


class Command(TyperCommand):
    """A command whose help has one screen."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Prints the help: without the options in panels, unless all are asked for."""
        shown = copy.copy(self)
        if not ctx.meta.get(_ALL):
            shown.params = [each for each in self.params if _matters(each)]
        TyperCommand.format_help(shown, ctx, formatter)


def _matters(param: Any) -> bool:
    return getattr(param, "rich_help_panel", None) is None


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.meta[_ALL] = True
        context.command.format_help(context, context.make_formatter())
        raise typer.Exit


HELP_ALL: Any = option(
    "Show all options, and exit.", "--help-all", default=False, callback=_show_all, is_eager=True
)

# The questions that a user comes with, each with the command that answers it.
QUESTIONS = (
    (
        "Which key-exchange group is fastest on my server?",
        "tlslab run groups --target nginx --quick",
    ),
    ("Which cipher suite?", "tlslab run suites --target nginx --quick"),
    (
        "What does a change gain: RSA to ECDSA, TLS 1.2 to 1.3?",
        "tlslab run --target nginx --vary key=rsa-2048,ecdsa-p256 --vary tls=1.2,1.3",
    ),
    (
        "How many new connections per second before p99 passes 50 ms?",
        "tlslab run capacity --target nginx --objective 'p99<50ms'",
    ),
    (
        "Is my new configuration better than the present one?",
        "tlslab prove --for nginx --baseline nginx.conf --candidate new.conf",
    ),
    ("What does a server accept, and is that good?", "tlslab grade localhost:8443"),
)

_OPENING = "tlslab measures what TLS settings cost a server and its clients."

_CLOSING = (
    "A server is one that tlslab starts (`tlslab targets` lists them), or the URL of a running "
    "one. `tlslab -h` lists all commands, `tlslab COMMAND -h` the options of one."
)


def questions() -> RenderableType:
    """What `tlslab` alone prints."""
    lines = [Text(_OPENING), Text()]
    for question, command in QUESTIONS:
        lines += [Text(question, style="bold"), Text(f"  {command}"), Text()]
    return Group(*lines, Text(_CLOSING, style="dim"))
