"""The kind `benchmark`: operations in memory, without a server."""

from tlslab.analysis import ANALYSTS
from tlslab.domain.benchmark import settings_of
from tlslab.domain.experiment import BENCHMARK
from tlslab.experiment import FILE_KINDS, make_plan
from tlslab.experiment.fault_trials import add_faults
from tlslab.lab.benchmark.benchmark_parts import benchmark_parts
from tlslab.lab.benchmark.benchmark_run import mean_seconds, run_benchmarks, with_runtimes
from tlslab.lab.benchmark.runtimes import Runtimes
from tlslab.lab.foresee import Foreseen, seed_of
from tlslab.lab.kinds.kind import KINDS, Kind
from tlslab.lab.request import Request
from tlslab.report.presentations import PRESENTATIONS
from tlslab.servers.jdk import find_jdks


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
