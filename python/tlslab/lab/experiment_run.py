"""A whole run of an experiment, whatever its kind."""

from dataclasses import replace

from tlslab.domain import events
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import COSTS, EXAMPLES, MATRIX
from tlslab.lab import required_parts
from tlslab.lab.foresee import Foreseen
from tlslab.lab.kinds import kind_of
from tlslab.lab.request import Request, Result
from tlslab.lab.required_parts import Part
from tlslab.lab.results import read_contents, summarise
from tlslab.lab.why.sampling import sampling_seconds

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
    """The plan and the length of a run of the request. Raises UsageError."""
    _check_why(request)
    _check_generators(request)
    found = kind_of(request.experiment).foresee(request)
    if not request.why:
        return found
    more = sampling_seconds(len(found.plan.cells), request.experiment.workload)
    least = None if found.at_least is None else found.at_least + more
    return replace(found, seconds=found.seconds + more, at_least=least)


def missing_parts(request: Request) -> tuple[Part, ...]:
    """The missing parts of a run that this checkout can make; none outside a checkout."""
    if not required_parts.in_checkout():
        return ()
    return tuple(kind_of(request.experiment).parts(request))


def execute(request: Request, observer: events.Observer) -> Result:
    """Runs an experiment, or its missing trials.

    Ends early, with the results so far, on KeyboardInterrupt. Raises UsageError, CannotRunError.
    """
    _check_why(request)
    _check_generators(request)
    return kind_of(request.experiment).conduct(request, observer)


def _check_generators(request: Request) -> None:
    """Raises UsageError if the load may not come from several generators."""
    if request.generators is not None and not kind_of(request.experiment).several_generators:
        raise UsageError(
            "--generators is for experiments in which one client may be too slow for the server; "
            f"not for {request.experiment.name}",
            "leave --generators out",
        )


def _check_why(request: Request) -> None:
    """Raises UsageError if there are no call stacks to sample."""
    if not request.why:
        return
    if not kind_of(request.experiment).sampled:
        raise UsageError(
            f"--why samples cells that are all measured alike; those of {request.experiment.name} "
            "are not",
            f"leave --why out, or take another experiment: {EXAMPLES[MATRIX]}, {EXAMPLES[COSTS]}",
        )
    if request.external:
        raise UsageError(
            "--why samples the processes of a server that the lab starts",
            "give --target nginx, apache, ... (`tlslab targets` lists them)",
        )
