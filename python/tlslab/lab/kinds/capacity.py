"""The kind `capacity`: a search for the maximum of each cell, then open loops at shares of it."""

from dataclasses import replace

from tlslab.analysis import ANALYSTS
from tlslab.domain.capacity import plan_of
from tlslab.domain.experiment import CAPACITY
from tlslab.experiment import FILE_KINDS, make_plan
from tlslab.experiment.obsolete import obsolete_cell
from tlslab.lab.capacity.agenda import steps_left
from tlslab.lab.capacity.capacity_run import for_external, run_capacity, without_order
from tlslab.lab.foresee import Foreseen, refusals, seed_of, unknown_before
from tlslab.lab.kinds.kind import KINDS, Kind
from tlslab.lab.request import Request
from tlslab.lab.required_parts import server_parts
from tlslab.report.presentations import PRESENTATIONS


def foresee(request: Request) -> Foreseen:
    """The cells, and the largest number of steps. Raises UsageError."""
    experiment = request.experiment
    if request.external:
        experiment = for_external(experiment, plan_of(experiment))
    stages = plan_of(experiment)
    refuse = refusals(replace(request, experiment=experiment))
    plan = make_plan(experiment, seed_of(request), refuse, request.targets[0])
    extra = () if stages.obsolete is None else (obsolete_cell(stages.obsolete),)
    plan = without_order(plan, extra)
    left = steps_left(stages, plan, {cell.key: [] for cell in plan.cells})
    return Foreseen(plan, left.steps, left.seconds, True, unknown_before(request, plan))


KINDS.register(
    CAPACITY,
    Kind(
        name=CAPACITY,
        file=FILE_KINDS[CAPACITY],
        foresee=foresee,
        parts=server_parts,
        conduct=run_capacity,
        analyse=ANALYSTS[CAPACITY],
        presentation=PRESENTATIONS[CAPACITY],
    ),
)
