"""A whole run whose plan is cells in randomised blocks."""

from tlslab.analysis.pilot import OVERHEAD_S
from tlslab.domain import events
from tlslab.domain.experiment import Experiment
from tlslab.domain.plan import Plan
from tlslab.domain.stopping import SHORTEST
from tlslab.domain.workload import Workload
from tlslab.lab.conductor import ended_early
from tlslab.lab.deployments import Servers, prepare
from tlslab.lab.generators.choose import generators
from tlslab.lab.matrix.agenda import BlocksAgenda, RunTrial, ending_of, sharing
from tlslab.lab.matrix.hooks import hooked
from tlslab.lab.opening import open_run, preflight
from tlslab.lab.private import private_folder
from tlslab.lab.request import Request, Result
from tlslab.lab.results import summarise
from tlslab.lab.serving import Benches
from tlslab.lab.trial import run_kinds
from tlslab.lab.why.sampling import sampled, sampling_seconds

# The time of each run beside its windows, for starting the engine, connecting, draining and
# writing.
RUN_OVERHEAD_S = 0.2


def run_cells(
    request: Request, observer: events.Observer, run: RunTrial, seconds_per_trial: float
) -> Result:
    """Runs an experiment, or its missing trials, with `run` for each trial.

    Ends early, with the results so far, on KeyboardInterrupt. Raises UsageError, CannotRunError.
    """
    warnings = preflight(request, most_connections(request.experiment), observer)
    pool = generators(request.generators, request.on_lost_host)
    with pool as engine, private_folder() as private:
        servers = prepare(request, engine, private)
        folder, plan = open_run(request, servers, engine, warnings, observer)
        observer(
            events.RunStarted(
                plan=plan,
                target=servers.target.name,
                folder=folder.path,
                done=len(folder.trials()),
                seconds_per_trial=seconds_per_trial + warm_up_seconds(plan, servers),
                at_least=least_seconds(servers.experiment, plan),
                sampling_s=(
                    sampling_seconds(len(plan.cells), servers.experiment.workload)
                    if request.why
                    else 0.0
                ),
            )
        )
        if request.hook is not None:
            run = hooked(request.hook, request.ready_s, servers.experiment, run)
        environment = folder.environment()
        ending = ending_of(servers.experiment, plan, environment)
        benches = Benches(engine, servers)
        agenda = BlocksAgenda(plan, benches, observer, run, environment, ending)
        early = ended_early(agenda, folder, request.sitting_s)
        if request.why and not early:
            early = "interrupted" if sampled(plan, benches, folder, private, observer) else ""
    return Result(folder.path, summarise(folder), early)


def least_seconds(experiment: Experiment, plan: Plan) -> float | None:
    """The least time of a run that may end early; None if it makes all its trials."""
    stopping = experiment.stopping
    if stopping is None:
        return None
    share = SHORTEST if stopping.pilot else 1.0
    each = experiment.workload.shortened(share).trial_seconds + OVERHEAD_S
    return len(plan.cells) * min(stopping.at_least, plan.blocks) * each


def trial_seconds(workload: Workload) -> float:
    """The length of a trial, in seconds."""
    return workload.trial_seconds + len(run_kinds(workload)) * RUN_OVERHEAD_S


def warm_up_seconds(plan: Plan, servers: Servers) -> float:
    """The warm-up time of fresh servers in seconds, divided by the number of trials."""
    starts = [servers.of(plan.cell(group[0].cell)) for group in sharing(plan.trials, plan, servers)]
    return sum(each.info.warm_up_ms for each in starts) / 1000 / max(1, len(plan.trials))


def most_connections(experiment: Experiment) -> int:
    """The largest number of connections that any run of the experiment has at once."""
    workload = experiment.workload
    keep_alive = workload.keep_alive.connections if workload.keep_alive else 0
    levels = [int(level) for level in experiment.levels("connections")]
    return (
        max(workload.connections, keep_alive, *levels)
        if levels
        else max(workload.connections, keep_alive)
    )
