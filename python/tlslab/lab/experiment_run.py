"""A whole run of an experiment, whatever its kind."""

from dataclasses import dataclass, replace

from tlslab.domain import events
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import COSTS, EXAMPLES, MATRIX
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.experiment import file_kind
from tlslab.lab import required_parts
from tlslab.lab.foresee import Foreseen
from tlslab.lab.kinds import kind_of
from tlslab.lab.request import Request, Result
from tlslab.lab.required_parts import MissingPart
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


def missing_parts(request: Request) -> tuple[MissingPart, ...]:
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


# `--budget` gives as many blocks as fit into a time. An interval needs two, a finding LEAST_BLOCKS;
# more than the most require --blocks.
LEAST_BY_BUDGET = 2
MOST_BY_BUDGET = 50


@dataclass(frozen=True)
class Fitted:
    """A request whose blocks fit into a time, and the number of blocks."""

    request: Request
    blocks: int

    @property
    def reservation(self) -> str:
        """A warning that the blocks are too few for a finding; empty if they suffice."""
        if self.blocks >= LEAST_BLOCKS:
            return ""
        return (
            f"--budget: {self.blocks} blocks fit, and fewer than {LEAST_BLOCKS} carry no sentence: "
            "the report will have figures and conclude nothing; give more time, or --quick"
        )


def within(request: Request, budget_s: float, most: int = MOST_BY_BUDGET) -> Fitted:
    """The request with as many blocks as fit into the budget.

    The number is decided before anything is measured, so that ordinary intervals hold.
    Raises UsageError if not even two fit.
    """
    found = None
    for blocks in range(LEAST_BY_BUDGET, max(most, LEAST_BY_BUDGET) + 1):
        experiment = file_kind(request.experiment).with_blocks(request.experiment, blocks)
        candidate = replace(request, experiment=experiment)
        seconds = foresee(candidate).seconds
        if seconds > budget_s:
            if found is None:
                raise UsageError(
                    f"--budget: two blocks take about {round(seconds)} s",
                    "give more time, or --quick, or fewer levels (--set)",
                )
            break
        found = Fitted(candidate, blocks)
    assert found is not None
    return found
