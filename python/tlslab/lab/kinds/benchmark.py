"""The kind `benchmark`: operations in memory, without a server."""

from tlslab.analysis import ANALYSTS
from tlslab.experiment import FILE_KINDS
from tlslab.lab.benchmark.benchmark_parts import benchmark_parts
from tlslab.lab.benchmark.benchmark_run import mean_seconds, run_benchmarks, with_runtimes
from tlslab.lab.benchmark.runtimes import Runtimes
from tlslab.lab.foresee import Foreseen, seed_of
from tlslab.lab.kinds.kind import KINDS, Kind
from tlslab.lab.request import Request
from tlslab.model.benchmark import settings_of
from tlslab.model.experiment import BENCHMARK
from tlslab.planning import make_plan
from tlslab.planning.fault_trials import add_faults
from tlslab.report.presentations import PRESENTATIONS
from tlslab.targets.jdk import find_jdks


def foresee(request: Request) -> Foreseen:
    """The plan and its length, on the runtimes of this machine."""
    runtimes = Runtimes.of(find_jdks(request.jdks))
    experiment = with_runtimes(request.experiment, runtimes, request.jdks)
    plan = add_faults(make_plan(experiment, seed_of(request)), experiment)
    seconds = len(plan.trials) * mean_seconds(plan, settings_of(experiment))
    return Foreseen(plan, len(plan.trials), seconds)


KINDS.register(
    BENCHMARK,
    Kind(
        name=BENCHMARK,
        file=FILE_KINDS[BENCHMARK],
        foresee=foresee,
        parts=benchmark_parts,
        conduct=run_benchmarks,
        analyse=ANALYSTS[BENCHMARK],
        presentation=PRESENTATIONS[BENCHMARK],
        several_generators=False,
    ),
)
