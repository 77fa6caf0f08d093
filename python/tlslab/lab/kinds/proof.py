"""The kind `proof`: two configurations of one server."""

from tlslab.analysis import ANALYSTS
from tlslab.domain.experiment import PROOF
from tlslab.experiment import FILE_KINDS, make_plan
from tlslab.lab.foresee import Foreseen, refusals, seed_of
from tlslab.lab.kinds.kind import KINDS, Kind
from tlslab.lab.matrix.run_in_blocks import least_seconds, trial_seconds
from tlslab.lab.proof.proof_run import run_proof
from tlslab.lab.request import Request
from tlslab.lab.required_parts import server_parts
from tlslab.report.presentations import PRESENTATIONS

_UNKNOWN = (
    "whether returning clients resume their sessions: where they do not, they are as new ones",
)


def foresee(request: Request) -> Foreseen:
    """The plan and its length."""
    plan = make_plan(request.experiment, seed_of(request), refusals(request), request.targets[0])
    seconds = len(plan.trials) * trial_seconds(request.experiment.workload)
    least = least_seconds(request.experiment, plan)
    return Foreseen(plan, len(plan.trials), seconds, unknown=_UNKNOWN, at_least=least)


KINDS.register(
    PROOF,
    Kind(
        name=PROOF,
        file=FILE_KINDS[PROOF],
        foresee=foresee,
        parts=server_parts,
        conduct=run_proof,
        analyse=ANALYSTS[PROOF],
        presentation=PRESENTATIONS[PROOF],
        several_generators=False,
    ),
)
