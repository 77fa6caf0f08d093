"""A whole run whose plan is cells in randomised blocks."""

from tlslab.lab import events
from tlslab.lab.conductor import interrupted
from tlslab.lab.deployments import Servers, prepare
from tlslab.lab.engine import Engine
from tlslab.lab.hooks import hooked
from tlslab.lab.matrix.agenda import BlocksAgenda, RunTrial, sharing
from tlslab.lab.private import private_folder
from tlslab.lab.programs import require_program
from tlslab.lab.request import Request, Result
from tlslab.lab.results import summarise
from tlslab.lab.server_run import open_run, preflight
from tlslab.lab.serving import Benches
from tlslab.model.experiment import Experiment
from tlslab.model.plan import Plan


def run_cells(
    request: Request, observer: events.Observer, run: RunTrial, seconds_per_trial: float
) -> Result:
    """Runs an experiment, or what is missing of one, with `run` for each trial.

    Ends early, with the results so far, on KeyboardInterrupt. Raises UsageError, CannotRunError.
    """
    warnings = preflight(request, most_connections(request.experiment), observer)
    engine = Engine(require_program("tlslab-load"))
    with private_folder() as private:
        servers = prepare(request, engine, private)
        folder, plan = open_run(request, servers, engine, warnings, observer)
        observer(
            events.RunStarted(
                plan=plan,
                target=servers.target.name,
                folder=folder.path,
                done=len(folder.trials()),
                seconds_per_trial=seconds_per_trial + warm_up_seconds(plan, servers),
            )
        )
        if request.hook is not None:
            run = hooked(request.hook, request.ready_s, servers.experiment, run)
        agenda = BlocksAgenda(plan, Benches(engine, servers), observer, run)
        early = interrupted(agenda, folder)
    return Result(folder.path, summarise(folder), early)


def warm_up_seconds(plan: Plan, servers: Servers) -> float:
    """The time for which fresh servers are warmed up, shared out over the trials, in seconds."""
    starts = [servers.of(plan.cell(group[0].cell)) for group in sharing(plan.trials, plan, servers)]
    return sum(each.info.warm_up_ms for each in starts) / 1000 / max(1, len(plan.trials))


def most_connections(experiment: Experiment) -> int:
    """The most connections that any run of the experiment has at once."""
    workload = experiment.workload
    keep_alive = workload.keep_alive.connections if workload.keep_alive else 0
    levels = [int(level) for level in experiment.levels("connections")]
    return (
        max(workload.connections, keep_alive, *levels)
        if levels
        else max(workload.connections, keep_alive)
    )
