"""The user's folders (XDG Base Directory Specification 0.8)."""

import os
from pathlib import Path


def user_folder(variable: str, below_home: str) -> Path | None:
    """The folder that an environment variable names, by default one below the home folder.

    None without a home folder: in a container the user may have neither HOME nor an entry in
    /etc/passwd.
    """
    named = os.environ.get(variable)
    if named:
        return Path(named)
    try:
        return Path.home() / below_home
    except RuntimeError:
        return None
