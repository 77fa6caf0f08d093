"""Opens a run folder: the one to resume, if its experiment is the same, or else a new one.

A new one has the environment of its run: machine, programs, target.
"""

import datetime
import os
import platform
import random
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

import tlslab
from tlslab.contract.primitives import Primitives
from tlslab.domain.errors import StoreError, UsageError
from tlslab.domain.experiment import Experiment
from tlslab.domain.plan import Plan
from tlslab.domain.run import Deployed, Environment, TargetInfo
from tlslab.domain.selftest import Selftest
from tlslab.experiment import dumps, file_kind
from tlslab.lab.foresee import require_cells
from tlslab.lab.placement import Placement
from tlslab.lab.request import Request
from tlslab.lab.store import RunFolder
from tlslab.lab.store.selftest_file import read_selftest
from tlslab.report import resume_command


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
        return folder, folder.plan()
    seed = random.SystemRandom().getrandbits(32) if request.seed is None else request.seed
    plan = make_plan(seed)
    require_cells(plan)
    path = request.out or default_folder(
        experiment.name, target if file_kind(experiment).has_server else None
    )
    return RunFolder.create(path, dumps(experiment), plan, describe(plan)), plan


def _refuse_other(
    folder: RunFolder, request: Request, experiment: Experiment, target: TargetInfo
) -> None:
    """Refuses to resume a folder whose run differs from the request. Raises UsageError."""
    if folder.experiment_text() != dumps(experiment):
        raise UsageError(
            f"{folder.path} holds another experiment than the one asked for",
            f"finish that one: `{resume_command(folder.path)}`; or leave --resume out",
        )
    earlier = folder.environment().target.name
    if earlier != target.name:
        raise UsageError(
            f"{folder.path} holds a run against '{earlier}', not '{target.name}'",
            "leave --target out, or make a new run without --resume",
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
        "memory_bytes": psutil.virtual_memory().total,
        "virtual": virtual,
        "load_average": os.getloadavg()[0],
    }


def _processor() -> tuple[str, bool]:
    """The processor's model name, and whether its flags show a hypervisor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line.partition(":") for line in file]
    except OSError:
        return platform.processor() or "unknown", False
    facts = {name.strip(): value.strip() for name, _, value in lines}
    return facts.get("model name", "unknown"), "hypervisor" in facts.get("flags", "").split()
