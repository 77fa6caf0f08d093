"""The kind `matrix`: every cell measured in the same way, in randomised blocks."""

from tlslab.analysis import ANALYSTS
from tlslab.domain import events
from tlslab.domain.experiment import MATRIX
from tlslab.experiment import FILE_KINDS, make_plan
from tlslab.lab.foresee import Foreseen, refusals, seed_of, unknown_before
from tlslab.lab.kinds.kind import KINDS, Kind
from tlslab.lab.matrix.run_in_blocks import least_seconds, run_cells, trial_seconds
from tlslab.lab.request import Request, Result
from tlslab.lab.required_parts import server_parts
from tlslab.lab.trial import run_trial
from tlslab.report.presentations import PRESENTATIONS


def foresee(request: Request) -> Foreseen:
    """The plan and its length."""
    plan = make_plan(request.experiment, seed_of(request), refusals(request), request.targets[0])
    seconds = len(plan.trials) * trial_seconds(request.experiment.workload)
    least = least_seconds(request.experiment, plan)
    return Foreseen(
        plan, len(plan.trials), seconds, unknown=unknown_before(request, plan), at_least=least
    )


def conduct(request: Request, observer: events.Observer) -> Result:
    """Each trial is a cell's runs of fixed length."""
    return run_cells(request, observer, run_trial, trial_seconds(request.experiment.workload))


KINDS.register(
    MATRIX,
    Kind(
        name=MATRIX,
        file=FILE_KINDS[MATRIX],
        foresee=foresee,
        parts=server_parts,
        conduct=conduct,
        analyse=ANALYSTS[MATRIX],
        presentation=PRESENTATIONS[MATRIX],
        sampled=True,
    ),
)
