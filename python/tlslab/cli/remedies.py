"""Remedies adapted to one command: its name, and the options that it lacks."""

import re
from collections.abc import Collection, Mapping, Sequence

# An option in backquotes may be part of a quoted command.
_QUOTED = re.compile(r"`[^`]*`")
_OPTION = re.compile(r"--[a-z][a-z-]*")

# The command's name in remedies for all commands.
_ANY_COMMAND = "`tlslab COMMAND "

# The engine's probe, and the lab's own command for it.
_ENGINE_PROBE, _PROBE = "`tlslab-load probe ", "`tlslab probe "

# The engine's own help, in its words; every command has such an option.
_ENGINE_HELP, _HELP = "see --help", "--help"

# The command that has the engine's own options.
_ENGINES = "load"

NO_OTHERS: Mapping[str, str] = {}


def in_lab(remedy: str, command: str) -> str:
    """A remedy of the engine that advises the lab's probe, and the help of the lab's command."""
    remedy = remedy.replace(_ENGINE_PROBE, _PROBE)
    return remedy.replace(_ENGINE_HELP, f"see `tlslab {command} --help`") if command else remedy


def fitting(
    remedy: str, command: str, known: Collection[str], elsewhere: Mapping[str, str] = NO_OTHERS
) -> str:
    """The remedy for a command with these options; for other options it names the command that has
    them.

    `command` is the command's name; empty if the command line names none. `elsewhere`: the command
    of each option that other commands have; the engine has the rest.
    """
    remedy = in_lab(remedy, command)
    if command:
        remedy = remedy.replace(_ANY_COMMAND, f"`tlslab {command} ")
    named = dict.fromkeys(_OPTION.findall(_QUOTED.sub("", remedy)))
    places: dict[str, list[str]] = {}
    for option in named:
        if option not in {*known, _HELP}:
            places.setdefault(elsewhere.get(option, _ENGINES), []).append(option)
    return "; ".join([remedy, *(of_another(lacking, name) for name, lacking in places.items())])


def of_another(options: Sequence[str], command: str) -> str:
    """`--sni and --proof are options of `tlslab load``."""
    are = "is an option" if len(options) == 1 else "are options"
    return f"{' and '.join(options)} {are} of `tlslab {command}`"
