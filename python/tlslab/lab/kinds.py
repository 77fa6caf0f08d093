"""The kinds of experiments: one row each.

A kind also has its files (`experiment.kinds`) and its analyst (`analysis.analysts`), in tables of
the stages that need no lab.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tlslab.domain import events
from tlslab.domain.benchmark import ENGINE, settings_of
from tlslab.domain.capacity import plan_of
from tlslab.domain.effects import SHARES
from tlslab.domain.errors import UsageError
from tlslab.domain.events import EngineReport
from tlslab.domain.experiment import BENCHMARK, CAPACITY, COSTS, EFFECTS, MATRIX, PROOF, Experiment
from tlslab.domain.plan import Cell, PlannedTrial
from tlslab.domain.trial import RunKind, Trial
from tlslab.experiment import make_plan
from tlslab.experiment.benchmark import add_faults
from tlslab.experiment.cells import obsolete_cell
from tlslab.lab.benchmark.benchmark_run import mean_seconds, run_benchmarks, with_runtimes
from tlslab.lab.benchmark.jmh import has_jar
from tlslab.lab.benchmark.runtimes import Runtimes
from tlslab.lab.capacity.capacity_run import for_external, run_capacity, steps_left, without_order
from tlslab.lab.foresee import Foreseen, refusals, seed_of, unknown_before
from tlslab.lab.matrix.run_in_blocks import least_seconds, run_cells, trial_seconds
from tlslab.lab.proof.proof_run import run_proof
from tlslab.lab.request import Request, Result
from tlslab.lab.required_parts import MissingPart, server_parts
from tlslab.lab.trial import NOT_RESUMED, Bench, run_trial
from tlslab.servers.jdk import find_jdks
from tlslab.servers.signer import find_signer

_UNKNOWN_OF_PROOF = (
    "whether returning clients resume their sessions: where they do not, they are as new ones",
)


@dataclass(frozen=True)
class Kind:
    """How the lab runs experiments of a kind.

    `foresee` plans a run without carrying it out; `conduct` carries it out. `parts` names
    additional parts that the run may need. `sampled`: --why can sample its cells, after their
    trials. `several_generators`: its load may come from several hosts.
    """

    foresee: Callable[[Request], Foreseen]
    conduct: Callable[[Request, events.Observer], Result]
    parts: Callable[[Request], Iterable[MissingPart]] = server_parts
    sampled: bool = False
    several_generators: bool = True


def kind_of(experiment: Experiment) -> Kind:
    """The kind of an experiment."""
    return KINDS[experiment.kind]


def _foresee_blocks(request: Request) -> Foreseen:
    """The plan of trials of fixed length, and its duration."""
    plan = make_plan(request.experiment, seed_of(request), refusals(request), request.targets[0])
    return Foreseen(
        plan,
        len(plan.trials),
        len(plan.trials) * trial_seconds(request.experiment.workload),
        unknown=unknown_before(request, plan),
        at_least=least_seconds(request.experiment, plan),
    )


def _conduct_blocks(request: Request, observer: events.Observer) -> Result:
    """Each trial is a cell's runs of fixed length."""
    return run_cells(request, observer, run_trial, trial_seconds(request.experiment.workload))


def _conduct_effects(request: Request, observer: events.Observer) -> Result:
    """New and resumed connections are measured in cells of their own."""
    return run_cells(request, observer, _run_effect, trial_seconds(request.experiment.workload))


def _run_effect(
    bench: Bench,
    planned: PlannedTrial,
    cell: Cell,
    on_report: Callable[[RunKind, EngineReport], None],
) -> Trial:
    """A trial. New connections ask for sessions, as clients do, unless the server has none.

    Requests on connections kept open belong to the cells of new connections alone.
    """
    if cell.factors.get("resumed") != SHARES["new"]:
        bare = replace(bench, workload=replace(bench.workload, keep_alive=None))
        return run_trial(bare, planned, cell, on_report)
    made = run_trial(bench, planned, cell, on_report)
    if made.reason is None or made.reason.class_ != NOT_RESUMED:
        return made
    factors = {name: level for name, level in cell.factors.items() if name != "resumed"}
    new = replace(bench, workload=replace(bench.workload, resume="none"))
    made = run_trial(new, planned, replace(cell, factors=factors), on_report)
    return replace(made, factors=cell.factors)


def _foresee_costs(request: Request) -> Foreseen:
    _require_managed(request)
    return _foresee_blocks(request)


def _conduct_costs(request: Request, observer: events.Observer) -> Result:
    _require_managed(request)
    return _conduct_blocks(request, observer)


def _require_managed(request: Request) -> None:
    """Raises UsageError for a server whose costs the lab cannot measure."""
    if request.external:
        raise UsageError(
            "calibrate serves documents of several sizes and accounts for the server's processor "
            "time: it needs a server that it starts itself",
            "give --target nginx, apache, ... (`tlslab targets` lists them)",
        )


def _foresee_proof(request: Request) -> Foreseen:
    return replace(_foresee_blocks(request), unknown=_UNKNOWN_OF_PROOF)


def _foresee_capacity(request: Request) -> Foreseen:
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


def _foresee_benchmark(request: Request) -> Foreseen:
    """The plan and its duration, on the runtimes of this machine."""
    runtimes = Runtimes.of(find_jdks(request.jdks))
    experiment = with_runtimes(request.experiment, runtimes, request.jdks)
    plan = add_faults(make_plan(experiment, seed_of(request)), experiment)
    seconds = len(plan.trials) * mean_seconds(plan, settings_of(experiment))
    return Foreseen(plan, len(plan.trials), seconds)


def benchmark_parts(request: Request) -> Iterator[MissingPart]:
    """The missing parts of a request: the benchmarks in Java, a signing node, a token."""
    levels = request.experiment.levels("runtime")
    if any(level != ENGINE for level in levels) and not has_jar():
        needed = ("install-debian.sh", "only", "mvn", "javac")
        yield MissingPart(
            "benchmarks.jar", "the benchmarks in Java", 2, (needed, ("build-java.sh",))
        )
    keys = request.experiment.levels("keys")
    if "cluster" in keys and find_signer() is None:
        yield MissingPart(
            "tlslab-signer", "the signing node (needs Go 1.24)", 3, (("build-signer.sh",),)
        )
    if "pkcs11" in keys and not (shutil.which("softhsm2-util") and shutil.which("pkcs11-tool")):
        needed = ("install-debian.sh", "only", "softhsm2-util", "pkcs11-tool")
        yield MissingPart("softhsm2", "the Debian packages softhsm2 and opensc", 1, (needed,))


KINDS: Mapping[str, Kind] = {
    MATRIX: Kind(_foresee_blocks, _conduct_blocks, sampled=True),
    EFFECTS: Kind(_foresee_blocks, _conduct_effects, sampled=True),
    COSTS: Kind(_foresee_costs, _conduct_costs, sampled=True),
    CAPACITY: Kind(_foresee_capacity, run_capacity),
    PROOF: Kind(_foresee_proof, run_proof, several_generators=False),
    BENCHMARK: Kind(_foresee_benchmark, run_benchmarks, benchmark_parts, several_generators=False),
}
