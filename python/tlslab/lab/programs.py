"""The places of the engine's programs; targets look for theirs in the same way."""

from tlslab.targets.programs import REMEDY, find_program, require_program

__all__ = ["REMEDY", "find_program", "require_program"]
