"""Opens a run folder: the one to resume, if its experiment is the same, or else a new one."""

import datetime
import random
import re
from collections.abc import Callable
from pathlib import Path

from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import Experiment
from tlslab.domain.plan import Plan
from tlslab.domain.run import Environment, TargetInfo
from tlslab.experiment import dumps, file_kind
from tlslab.lab.foresee import require_cells
from tlslab.lab.request import Request
from tlslab.lab.store import RunFolder
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
