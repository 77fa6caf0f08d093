"""The places of the engine's programs; targets look for theirs in the same way."""

from tlslab.servers.programs import (
    REMEDY,
    find_program,
    has_openssl,
    require_program,
    without_openssl,
)

__all__ = ["REMEDY", "find_program", "has_openssl", "require_program", "without_openssl"]
