"""The shared preparation of runs against servers: checks, plan, run folder."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tlslab.domain import events
from tlslab.domain.errors import CannotRunError, EngineError
from tlslab.domain.plan import Plan
from tlslab.domain.proof import Found
from tlslab.domain.run import Environment
from tlslab.experiment import make_plan
from tlslab.lab.deployments import Servers
from tlslab.lab.environment import describe
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.opening import open_folder
from tlslab.lab.placement import Placement
from tlslab.lab.preflight import check_run
from tlslab.lab.primitives import measure_primitives
from tlslab.lab.request import Request
from tlslab.lab.store import RunFolder


def preflight(request: Request, connections: int, observer: events.Observer) -> tuple[str, ...]:
    """Checks the machine: raises CannotRunError for a fault, and reports the warnings."""
    targets = request.experiment.levels("server") or request.targets
    checks = check_run(connections, targets, not request.external)
    for check in checks:
        if check.level == "hard":
            raise CannotRunError(check.message, check.remedy)
    warnings = tuple(check.text for check in checks if check.level == "warning")
    for warning in warnings:
        observer(events.Warned(warning))
    return warnings


def open_run(
    request: Request,
    servers: Servers,
    engine: GeneratorPool,
    warnings: Sequence[str],
    observer: events.Observer,
    amend: Callable[[Plan], Plan] = lambda plan: plan,
    found: Sequence[Found] = (),
) -> tuple[RunFolder, Plan]:
    """The run folder and its plan, with the warnings of preflight and of the servers.

    `amend` adapts the plan to the kind of experiment; `found` is the observed behaviour of a
    proof's configurations.
    """
    for warning in servers.warnings():
        observer(events.Warned(warning))

    def plan_of(seed: int) -> Plan:
        return amend(make_plan(servers.experiment, seed, servers.refuse, request.targets[0]))

    def environment_of(plan: Plan) -> Environment:
        reported, primitives = [*warnings, *servers.warnings()], None
        try:
            document = servers.experiment.workload.document_bytes
            primitives = measure_primitives(engine, plan, document, servers.generator)
        except EngineError as error:
            reported.append(f"no limits: the primitives could not be measured: {error.message}")
            observer(events.Warned(reported[-1]))
        placement = Placement(servers.target.processors, servers.generator)
        described = describe(
            servers.target, placement, request.command, reported, primitives, servers.deployed
        )
        return replace(described, found=tuple(found))

    return open_folder(request, servers.experiment, servers.target, plan_of, environment_of)
