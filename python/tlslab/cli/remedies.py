"""Remedies adapted to one command: its name, and the options that it lacks."""

import re
from collections.abc import Collection

# An option in backquotes may be part of a quoted command.
_QUOTED = re.compile(r"`[^`]*`")
_OPTION = re.compile(r"--[a-z][a-z-]*")

# The command's name in remedies for all commands.
_ANY_COMMAND = "`tlslab COMMAND "

# The engine's probe, and the lab's own command for it.
_ENGINE_PROBE, _PROBE = "`tlslab-load probe ", "`tlslab probe "


def in_lab(remedy: str) -> str:
    """A remedy of the engine that advises the lab's probe in place of the engine's."""
    return remedy.replace(_ENGINE_PROBE, _PROBE)


def fitting(remedy: str, command: str, known: Collection[str]) -> str:
    """The remedy for a command with these options; for other options it names the command that has
    them.

    `command` is the command's name; empty if the command line names none.
    """
    remedy = in_lab(remedy)
    if command:
        remedy = remedy.replace(_ANY_COMMAND, f"`tlslab {command} ")
    named = dict.fromkeys(_OPTION.findall(_QUOTED.sub("", remedy)))
    lacking = [option for option in named if option not in known]
    if not lacking:
        return remedy
    are = "is an option" if len(lacking) == 1 else "are options"
    return f"{remedy}; {' and '.join(lacking)} {are} of `tlslab load`"
