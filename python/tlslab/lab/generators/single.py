"""The pool of one generator on this machine."""

from tlslab.lab.engine import Engine
from tlslab.lab.generators.pool import GeneratorPool
from tlslab.lab.programs import require_program


def local_pool() -> GeneratorPool:
    """The engine on this machine. Raises CannotRunError if it is missing."""
    return Engine(require_program("tlslab-load"))
