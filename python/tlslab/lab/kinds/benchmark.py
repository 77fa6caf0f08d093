"""The kind `benchmark`: operations in memory, without a server."""

import shutil
from collections.abc import Iterator

from tlslab.analysis import ANALYSTS
from tlslab.domain.benchmark import ENGINE, settings_of
from tlslab.domain.experiment import BENCHMARK
from tlslab.experiment import FILE_KINDS, make_plan
from tlslab.experiment.fault_trials import add_faults
from tlslab.lab.benchmark.benchmark_run import mean_seconds, run_benchmarks, with_runtimes
from tlslab.lab.benchmark.jmh import has_jar
from tlslab.lab.benchmark.runtimes import Runtimes
from tlslab.lab.foresee import Foreseen, seed_of
from tlslab.lab.kinds.kind import KINDS, Kind
from tlslab.lab.request import Request
from tlslab.lab.required_parts import Part
from tlslab.report.presentations import PRESENTATIONS
from tlslab.servers.jdk import find_jdks
from tlslab.servers.signer import find_signer


def foresee(request: Request) -> Foreseen:
    """The plan and its length, on the runtimes of this machine."""
    runtimes = Runtimes.of(find_jdks(request.jdks))
    experiment = with_runtimes(request.experiment, runtimes, request.jdks)
    plan = add_faults(make_plan(experiment, seed_of(request)), experiment)
    seconds = len(plan.trials) * mean_seconds(plan, settings_of(experiment))
    return Foreseen(plan, len(plan.trials), seconds)


def benchmark_parts(request: Request) -> Iterator[Part]:
    """The missing parts of a request: the benchmarks in Java, a signing node, a token."""
    levels = request.experiment.levels("runtime")
    if any(level != ENGINE for level in levels) and not has_jar():
        needed = ("install-debian.sh", "only", "mvn", "javac")
        yield Part("benchmarks.jar", "the benchmarks in Java", 2, (needed, ("build-java.sh",)))
    keys = request.experiment.levels("keys")
    if "cluster" in keys and find_signer() is None:
        yield Part("tlslab-signer", "the signing node (needs Go 1.24)", 3, (("build-signer.sh",),))
    if "pkcs11" in keys and not (shutil.which("softhsm2-util") and shutil.which("pkcs11-tool")):
        needed = ("install-debian.sh", "only", "softhsm2-util", "pkcs11-tool")
        yield Part("softhsm2", "the Debian packages softhsm2 and opensc", 1, (needed,))


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
