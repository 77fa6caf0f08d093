"""The shared preparation of runs against servers: checks, plan, run folder."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tlslab.contract.primitives import Primitives
from tlslab.domain import events
from tlslab.domain.errors import CannotRunError, EngineError
from tlslab.domain.names import CERTIFICATE_KEYS, find_group, find_suite
from tlslab.domain.plan import Plan
from tlslab.domain.proof import Found
from tlslab.domain.run import Environment
from tlslab.experiment import make_plan
from tlslab.lab.deployments import Servers
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.opening import describe, open_folder
from tlslab.lab.placement import Placement
from tlslab.lab.preflight import check_run
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


# The time for each primitive. With two libraries a plan of six groups takes about a second.
PRIMITIVE_TIME = "8ms"

# The default size of a response of the engine's own listener, and the largest one, in bytes.
_RESPONSE_BYTES = 2048
_RESPONSE_LIMIT = 32_768

# The size of a response's head, in addition to the document.
_HEAD_BYTES = 200


def measure_primitives(
    engine: GeneratorPool, plan: Plan, document_bytes: int, processors: Sequence[int]
) -> Primitives:
    """The primitives of all cells, on the generator's processor. Raises EngineError."""
    flags = ["--time", PRIMITIVE_TIME]
    for cell in plan.cells:
        flags += _flags("--group", [g for g in cell.profile.groups if find_group(g)])
        flags += _flags("--suite", [s for s in cell.profile.suites if find_suite(s)])
        key = cell.factors.get("key", "")
        flags += _flags("--certificate", [key] if key in CERTIFICATE_KEYS else [])
    size = min(_RESPONSE_LIMIT, document_bytes + _HEAD_BYTES if document_bytes else _RESPONSE_BYTES)
    flags += ["--response-bytes", str(size)]
    if processors:
        flags += ["--cpu", str(processors[0])]
    return engine.primitives(_once(flags))


def _flags(name: str, values: Sequence[str]) -> list[str]:
    return [part for value in values for part in (name, value)]


def _once(flags: Sequence[str]) -> list[str]:
    """Each option with each of its values once, in order of first appearance."""
    pairs = dict.fromkeys(zip(flags[::2], flags[1::2], strict=True))
    return [part for pair in pairs for part in pair]
