"""The kind `costs`: the server's cost of each part of a connection."""

from tlslab.analysis import ANALYSTS
from tlslab.domain import events
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import COSTS
from tlslab.experiment import FILE_KINDS, make_plan
from tlslab.lab.foresee import Foreseen, refusals, seed_of, unknown_before
from tlslab.lab.kinds.kind import KINDS, Kind
from tlslab.lab.matrix.run_in_blocks import run_cells, trial_seconds
from tlslab.lab.request import Request, Result
from tlslab.lab.required_parts import server_parts
from tlslab.lab.trial import run_trial
from tlslab.report.presentations import PRESENTATIONS


def foresee(request: Request) -> Foreseen:
    """The plan and its duration.

    Raises UsageError for a server whose costs the lab cannot measure.
    """
    _check(request)
    plan = make_plan(request.experiment, seed_of(request), refusals(request), request.targets[0])
    seconds = len(plan.trials) * trial_seconds(request.experiment.workload)
    return Foreseen(plan, len(plan.trials), seconds, unknown=unknown_before(request, plan))


def conduct(request: Request, observer: events.Observer) -> Result:
    """Each trial is one run of the lean client."""
    _check(request)
    return run_cells(request, observer, run_trial, trial_seconds(request.experiment.workload))


def _check(request: Request) -> None:
    if request.external:
        raise UsageError(
            "calibrate serves documents of several sizes and accounts for the server's processor "
            "time: it needs a server that it starts itself",
            "give --target nginx, apache, ... (`tlslab targets` lists them)",
        )


KINDS.register(
    COSTS,
    Kind(
        name=COSTS,
        file=FILE_KINDS[COSTS],
        foresee=foresee,
        parts=server_parts,
        conduct=conduct,
        analyse=ANALYSTS[COSTS],
        presentation=PRESENTATIONS[COSTS],
        sampled=True,
    ),
)
