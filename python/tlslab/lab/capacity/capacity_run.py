"""A whole run of a capacity experiment: prepare, plan, carry out, keep, summarise."""

import resource
from dataclasses import replace

from tlslab.analysis.capacity.capacity_cell import cell_processors
from tlslab.domain import events
from tlslab.domain.capacity import CapacityPlan, plan_of
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import Experiment, matches
from tlslab.domain.plan import Cell, Plan
from tlslab.domain.run import Environment, by_cell
from tlslab.experiment import make_cells
from tlslab.experiment.capacity_planner import resumes_by
from tlslab.experiment.cells import obsolete_cell
from tlslab.lab.capacity.agenda import StepsAgenda, steps_left
from tlslab.lab.conductor import interrupted
from tlslab.lab.deployments import prepare
from tlslab.lab.generators.choose import generators
from tlslab.lab.preflight import OTHER_FILES
from tlslab.lab.private import private_folder
from tlslab.lab.request import Request, Result
from tlslab.lab.results import summarise
from tlslab.lab.server_run import open_run, preflight
from tlslab.lab.serving import Benches


def run_capacity(request: Request, observer: events.Observer) -> Result:
    """Runs an experiment of the kind `capacity`, or its missing steps.

    Ends early, with the results so far, on KeyboardInterrupt. Raises UsageError, CannotRunError.
    """
    stages = plan_of(request.experiment)
    if request.external:
        request = replace(request, experiment=for_external(request.experiment, stages))
        stages = plan_of(request.experiment)
    most = max(stages.search.most, stages.open_loop.connections)
    allow_files(most)
    warnings = preflight(request, most, observer)
    extra = () if stages.obsolete is None else (obsolete_cell(stages.obsolete),)
    pool = generators(request.generators, request.on_lost_host)
    with pool as engine, private_folder() as private:
        if engine.size > 1:
            request = replace(request, experiment=for_several(request.experiment, stages))
            stages = plan_of(request.experiment)
        more = (*_resuming(request, stages), *extra)
        servers = prepare(request, engine, private, more, warmed_up=False)
        folder, plan = open_run(
            request, servers, engine, warnings, observer, lambda plan: without_order(plan, extra)
        )
        shared = sharing(plan, folder.environment())
        left = steps_left(stages, plan, by_cell(plan, folder.trials()), shared)
        observer(events.StepsStarted(plan, servers.target.name, folder.path, left))
        agenda = StepsAgenda(plan, Benches(engine, servers), observer, shared)
        early = interrupted(agenda, folder)
    return Result(folder.path, summarise(folder), early)


def sharing(plan: Plan, where: Environment) -> set[str]:
    """The keys of the cells whose generator shares a processor with the server."""
    return {cell.key for cell in plan.cells if cell_processors(cell, where)[1]}


def allow_files(connections: int) -> None:
    """Raises this process's limit of open files if possible; programs that it starts inherit the
    limit.

    An open loop has more connections at once than the usual limit of 1,024 allows. Preflight
    reports a limit that cannot be raised.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed and (hard < 0 or needed <= hard):
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def without_order(plan: Plan, extra: tuple[Cell, ...]) -> Plan:
    """The plan with more cells and no order of trials, which the planner determines."""
    return replace(plan, trials=(), cells=(*plan.cells, *extra))


def _resuming(request: Request, stages: CapacityPlan) -> list[Cell]:
    """Copies of the cells on servers that let clients resume sessions, for the remedies."""
    if stages.remedies is None or request.external or not stages.remedies.resume_ratios:
        return []
    found = []
    for cell in make_cells(request.experiment, request.targets[0])[0]:
        assert cell.deployment is not None
        if matches(stages.remedies.when, cell.factors):
            resuming = replace(cell.deployment, resume=resumes_by(stages.remedies.resume, cell))
            found.append(replace(cell, deployment=resuming))
    return found


def for_several(experiment: Experiment, stages: CapacityPlan) -> Experiment:
    """The experiment for several generators: without the capture, which needs one."""
    return replace(experiment, settings=replace(stages, validation=None))


def for_external(experiment: Experiment, stages: CapacityPlan) -> Experiment:
    """The experiment for a server that the lab did not start, without the settings that need the
    lab.

    Raises UsageError for a cell with obsolete settings.
    """
    if stages.obsolete is not None:
        raise UsageError(
            "--allow-obsolete is for servers that the lab starts",
            "leave --allow-obsolete out, or give --target NAME",
        )
    mine = ("processors", "workers")

    def without(levels: object) -> dict[str, str]:
        assert isinstance(levels, dict)
        return {name: level for name, level in levels.items() if name not in mine}

    remedies, validation = stages.remedies, stages.validation
    if remedies is not None:
        remedies = replace(remedies, when=without(remedies.when))
    if validation is not None:
        validation = replace(validation, when=without(validation.when))
    return replace(
        experiment,
        factors=tuple(factor for factor in experiment.factors if factor.name not in mine),
        baseline=without(experiment.baseline),
        settings=replace(stages, remedies=remedies, validation=validation),
    )
