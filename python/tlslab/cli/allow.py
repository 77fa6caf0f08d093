"""The allow file: hosts that the user has permanently allowed as targets."""

from pathlib import Path

from tlslab.domain.errors import UsageError
from tlslab.user_folders import user_folder


def allow_file() -> Path | None:
    """`$XDG_CONFIG_HOME/tlslab/allow`, by default `~/.config/tlslab/allow`."""
    base = user_folder("XDG_CONFIG_HOME", ".config")
    return None if base is None else base / "tlslab" / "allow"


def read_allow_file() -> tuple[str, ...]:
    """One host per line; `#` starts a comment.

    Without a file there are no hosts. Raises UsageError.
    """
    path = allow_file()
    if path is None:
        return ()
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the allow file {path} cannot be read: "
            f"{getattr(error, 'strerror', 'not a text in UTF-8')}",
            "make it a text file with one host a line, or remove it",
        ) from None
    hosts = (line.partition("#")[0].strip() for line in lines)
    return tuple(host for host in hosts if host)
