"""Remedies of the engine that name its options, in commands that lack some of these."""

import re
from collections.abc import Collection

# An option in backquotes stands in a command that is named with it.
_QUOTED = re.compile(r"`[^`]*`")
_OPTION = re.compile(r"--[a-z][a-z-]*")


def fitting(remedy: str, known: Collection[str]) -> str:
    """The remedy for a command with these options: says of the others which command has them."""
    remedy = remedy.replace("with --probe", "with `tlslab probe`")
    named = dict.fromkeys(_OPTION.findall(_QUOTED.sub("", remedy)))
    lacking = [option for option in named if option not in known]
    if not lacking:
        return remedy
    are = "is an option" if len(lacking) == 1 else "are options"
    return f"{remedy}; {' and '.join(lacking)} {are} of `tlslab load`"
