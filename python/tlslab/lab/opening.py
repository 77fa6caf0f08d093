"""The preparation of a run: checks of the machine, the plan, the run folder with its environment.

The folder is the one to resume, if its experiment is the same, or else a new one.
"""

import datetime
import hashlib
import os
import platform
import random
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

import tlslab
from tlslab.contract.primitives import Primitives
from tlslab.domain import events
from tlslab.domain.errors import CannotRunError, EngineError, StoreError, UsageError
from tlslab.domain.experiment import Experiment
from tlslab.domain.names import CERTIFICATE_KEYS, find_group, find_suite
from tlslab.domain.plan import Plan
from tlslab.domain.proof import SeenTls
from tlslab.domain.run import (
    BOOT,
    MEMORY,
    Deployed,
    Environment,
    Sitting,
    TargetInfo,
    kind_of_machine,
    machine_words,
)
from tlslab.domain.selftest import Selftest
from tlslab.experiment import dumps, file_kind, make_plan
from tlslab.lab.deployments import Servers
from tlslab.lab.foresee import require_cells
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.placement import Placement
from tlslab.lab.preflight import check_run
from tlslab.lab.request import Request
from tlslab.lab.store import RunFolder
from tlslab.lab.store.selftest_file import read_selftest
from tlslab.report import resume_command


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
    found: Sequence[SeenTls] = (),
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


def open_folder(
    request: Request,
    experiment: Experiment,
    target: TargetInfo,
    make_plan: Callable[[int], Plan],
    describe: Callable[[Plan], Environment],
) -> tuple[RunFolder, Plan]:
    """The folder and its plan.

    `experiment` and `target` are those of this machine for the request. `make_plan` makes a new
    run's plan from its seed, `describe` its environment. Raises UsageError, StoreError.
    """
    if request.resume is not None:
        folder = RunFolder.resume(request.resume)
        _refuse_other(folder, request, experiment, target)
        folder.sit_down(sitting(folder, request))
        return folder, folder.plan()
    seed = random.SystemRandom().getrandbits(32) if request.seed is None else request.seed
    plan = make_plan(seed)
    require_cells(plan)
    path = request.out or default_folder(
        experiment.name, target if file_kind(experiment).has_server else None
    )
    return RunFolder.create(path, dumps(experiment), plan, describe(plan)), plan


def sitting(folder: RunFolder, request: Request) -> Sitting:
    """The sitting that begins now with a folder's next trial.

    Raises UsageError on another kind of machine for a run that has more than ratios within blocks:
    a capacity experiment, whose loads follow from what was measured before, and a cost model.
    """
    earlier = folder.environment()
    now = Sitting(
        number=len(earlier.sittings),
        begun=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        tlslab=tlslab.__version__,
        command=tuple(request.command),
        machine=machine(),
    )
    is_own = not folder.plan().trials or request.experiment.design is not None
    if is_own and kind_of_machine(now) != kind_of_machine(earlier):
        raise UsageError(
            f"{folder.path} was begun on {machine_words(earlier)}; this is {machine_words(now)}: "
            "what is left belongs to what was measured there",
            "finish it there; or make a run here, and `tlslab compare` both",
        )
    return now


def _refuse_other(
    folder: RunFolder, request: Request, experiment: Experiment, target: TargetInfo
) -> None:
    """Refuses to resume a folder whose run differs from the request. Raises UsageError."""
    if folder.experiment_text() != dumps(experiment):
        raise UsageError(
            f"{folder.path} holds another experiment than the one asked for",
            f"finish that one: `{resume_command(folder.path)}`; or leave --resume out",
        )
    earlier = folder.environment().target
    if earlier.name != target.name:
        raise UsageError(
            f"{folder.path} holds a run against '{earlier.name}', not '{target.name}'",
            "leave --target out, or make a new run without --resume",
        )
    if target.managed and earlier.processors != target.processors:
        raise UsageError(
            f"{folder.path} holds a run on the processors {list(earlier.processors)}; here the "
            f"server gets {list(target.processors)}",
            "go on where those may be used; or make a new run, and `tlslab compare` both",
        )
    if target.managed and (earlier.software, earlier.backend) != (target.software, target.backend):
        raise UsageError(
            f"{folder.path} holds a run against {earlier.software} ({earlier.backend}); here it "
            f"is {target.software} ({target.backend})",
            "install that version; or make a new run, and `tlslab compare` both",
        )
    if request.seed not in (None, folder.plan().seed):
        raise UsageError(
            f"{folder.path} was planned with the seed {folder.plan().seed}",
            "leave --seed out: a resumed run keeps its seed",
        )


def default_folder(experiment: str, target: TargetInfo | None) -> Path:
    """`runs/EXPERIMENT-TARGET-TIME`; for an external target, only safe characters of the host.

    A run without a server has no target in its name.
    """
    name = "" if target is None else target.name if target.managed else target.host
    name = re.sub(r"[^A-Za-z0-9.+-]", "_", name)[:64]
    now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    return Path("runs") / "-".join(filter(None, (experiment, name, now)))


def describe(
    target: TargetInfo,
    placement: Placement,
    command: Sequence[str],
    warnings: Sequence[str],
    primitives: Primitives | None = None,
    deployments: Sequence[Deployed] = (),
) -> Environment:
    """The environment of a run that starts now."""
    now = datetime.datetime.now(datetime.UTC)
    here = machine()
    return Environment(
        created=now.isoformat(timespec="seconds"),
        tlslab=tlslab.__version__,
        command=tuple(command),
        target=target,
        generator_processors=placement.generator,
        machine=here,
        versions={"python": platform.python_version(), "python_ssl": ssl.OPENSSL_VERSION},
        warnings=tuple(warnings),
        primitives=primitives,
        deployments=tuple(deployments),
        selftest=selftest_of(here),
    )


def selftest_of(here: Mapping[str, Any]) -> Selftest | None:
    """The self-test made on such a machine by this version; None without one.

    A damaged file counts as no self-test and does not prevent a run.
    """
    try:
        kept = read_selftest()
    except StoreError:
        return None
    return kept if kept is not None and kept.holds_for(tlslab.__version__, here) else None


def machine() -> dict[str, Any]:
    """The machine: kernel, processor, memory; nothing that names its owner."""
    model, virtual = _processor()
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "processor": model,
        "processors": os.cpu_count(),
        "usable_processors": len(os.sched_getaffinity(0)),
        MEMORY: psutil.virtual_memory().total,
        "virtual": virtual,
        BOOT: boot(),
        "load_average": os.getloadavg()[0],
    }


def boot() -> str:
    """A name for this start of the kernel, and for nothing else; empty if it has none."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")
    except (OSError, ValueError):
        return ""
    return hashlib.sha256(text.strip().encode()).hexdigest()[:12]


def _processor() -> tuple[str, bool]:
    """The processor's model name, and whether its flags show a hypervisor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line.partition(":") for line in file]
    except OSError:
        return platform.processor() or "unknown", False
    facts = {name.strip(): value.strip() for name, _, value in lines}
    return facts.get("model name", "unknown"), "hypervisor" in facts.get("flags", "").split()
