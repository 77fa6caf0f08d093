"""A whole run of an experiment, whatever its kind."""

from tlslab.lab import events, parts
from tlslab.lab.foresee import Foreseen
from tlslab.lab.kinds import kind_of
from tlslab.lab.parts import Part
from tlslab.lab.request import Request, Result
from tlslab.lab.results import read_contents, summarise

__all__ = [
    "Request",
    "Result",
    "execute",
    "foresee",
    "missing_parts",
    "read_contents",
    "summarise",
]


def foresee(request: Request) -> Foreseen:
    """What a run of the request would be. Raises UsageError."""
    return kind_of(request.experiment).foresee(request)


def missing_parts(request: Request) -> tuple[Part, ...]:
    """What a run of the request needs, has not got, and this checkout can make; none elsewhere."""
    if not parts.in_checkout():
        return ()
    return tuple(kind_of(request.experiment).parts(request))


def execute(request: Request, observer: events.Observer) -> Result:
    """Runs an experiment, or what is missing of one.

    Ends early, with the results so far, on KeyboardInterrupt. Raises UsageError, CannotRunError.
    """
    return kind_of(request.experiment).conduct(request, observer)
