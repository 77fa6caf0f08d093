"""A whole run: prepare the target, plan, carry out, keep, summarise."""

import datetime
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlslab import analysis, report
from tlslab.experiment import dumps, loads
from tlslab.lab import events
from tlslab.lab.conductor import Conductor
from tlslab.lab.discovery import discover
from tlslab.lab.engine import Engine
from tlslab.lab.environment import describe
from tlslab.lab.placement import place
from tlslab.lab.preflight import check_run
from tlslab.lab.primitives import measure_primitives
from tlslab.lab.private import private_folder
from tlslab.lab.programs import require_program
from tlslab.lab.specs import Aim
from tlslab.model.errors import CannotRunError, EngineError, UsageError
from tlslab.model.experiment import Experiment
from tlslab.model.finding import Summary
from tlslab.model.names import CERTIFICATE_KEYS
from tlslab.model.plan import Plan
from tlslab.model.run import RunContents, TargetInfo
from tlslab.planning import make_plan
from tlslab.store import RunFolder
from tlslab.targets import MANAGED, Nginx, Reference, Running
from tlslab.targets.base import Setting
from tlslab.targets.certificates import SERVER_NAME

# Beside its windows a trial starts the engine twice, connects, drains and writes.
TRIAL_OVERHEAD_S = 0.4

# What a managed server has when the experiment does not say: what every client can do.
DEFAULT_KEYS = ("ecdsa-p256",)
DEFAULT_GROUPS = ("X25519", "P-256", "P-384", "P-521")

NO_SUCH_KEY = "the lab makes no certificates with such a key"


@dataclass(frozen=True)
class Request:
    """What the user asked for; `target` is a managed target's name or a URL."""

    experiment: Experiment
    target: str
    command: tuple[str, ...]
    out: Path | None = None
    resume: Path | None = None
    allow: tuple[str, ...] = ()
    seed: int | None = None
    authority: Path | None = None
    insecure: bool = False


@dataclass(frozen=True)
class Result:
    """A run folder and its summary; `interrupted` when trials of the plan are missing for it."""

    folder: Path
    summary: Summary
    interrupted: bool


@dataclass(frozen=True)
class _Prepared:
    """A target ready to be started, or to be left as it is."""

    experiment: Experiment
    info: TargetInfo
    aim: Aim
    unavailable: dict[tuple[str, str], str]
    start: Callable[[], Running] | None


def execute(request: Request, observer: events.Observer) -> Result:
    """Runs an experiment, or what is missing of one.

    Ends early, with the results so far, on KeyboardInterrupt. Raises UsageError, CannotRunError.
    """
    warnings = _preflight(request, observer)
    engine = Engine(require_program("tlslab-load"))
    with private_folder() as private:
        prepared = _prepare(request, engine, private)
        folder, plan = _open(request, prepared, engine, warnings, observer)
        workload = prepared.experiment.workload
        observer(
            events.RunBegun(
                plan=plan,
                target=prepared.info.name,
                folder=folder.path,
                done=len(folder.trials()),
                seconds_per_trial=workload.trial_seconds + TRIAL_OVERHEAD_S,
            )
        )
        conductor = Conductor(engine, workload, prepared.aim, prepared.start, observer)
        interrupted = False
        try:
            conductor.carry_out(plan, folder)
        except KeyboardInterrupt:
            interrupted = True
    return Result(folder.path, summarise(folder), interrupted)


def read_contents(folder: RunFolder) -> RunContents:
    """All that a run folder holds before analysis."""
    return RunContents(
        experiment=loads(folder.experiment_text(), str(folder.path / "experiment.toml")),
        plan=folder.plan(),
        environment=folder.environment(),
        trials=folder.trials(),
    )


def summarise(folder: RunFolder) -> Summary:
    """Analyses a run folder and puts summary and report into it."""
    summary = analysis.summarise(read_contents(folder))
    folder.write_summary(summary, report.render_html(summary))
    return summary


def _preflight(request: Request, observer: events.Observer) -> tuple[str, ...]:
    """Refuses what cannot work on this machine, and tells what may disturb."""
    connections = request.experiment.workload.connections
    checks = check_run(connections, request.target, request.target in MANAGED)
    for check in checks:
        if check.level == "hard":
            raise CannotRunError(check.message, check.remedy)
    warnings = tuple(check.text for check in checks if check.level == "warning")
    for warning in warnings:
        observer(events.Warned(warning))
    return warnings


def _prepare(request: Request, engine: Engine, private: Path) -> _Prepared:
    if request.target in MANAGED:
        return _prepare_managed(request, private)
    if "://" not in request.target:
        known = ", ".join(MANAGED)
        raise UsageError(
            f"unknown target '{request.target}'", f"known: {known}, or a URL https://..."
        )
    aim = Aim(
        url=request.target,
        trust=_trust(request),
        allow=request.allow,
        processors=place(managed=False).generator,
    )
    found = discover(engine, aim, request.experiment)
    return _Prepared(found.experiment, found.info, aim, found.unavailable, None)


def _prepare_managed(request: Request, private: Path) -> _Prepared:
    if request.authority is not None or request.insecure:
        raise UsageError("--ca and --insecure are for servers that the lab did not start")
    placement = place(managed=True)
    levels = {factor.name: factor.levels for factor in request.experiment.factors}
    keys = tuple(key for key in levels.get("key", DEFAULT_KEYS) if key in CERTIFICATE_KEYS)
    setting = Setting(
        folder=private,
        keys=keys,
        groups=levels.get("group", DEFAULT_GROUPS),
        document_bytes=request.experiment.workload.document_bytes,
        processors=placement.server,
        http2=request.experiment.workload.http == "2",
        resume=request.experiment.workload.resume,
    )
    target: Reference | Nginx
    if request.target == "reference":
        target = Reference(setting, require_program("tlslab-serve"))
    else:
        target = Nginx(setting)
    unavailable = {("key", key): NO_SUCH_KEY for key in levels.get("key", ()) if key not in keys}
    unavailable |= target.prepare()
    info = TargetInfo(
        name=target.name,
        managed=True,
        software=target.software,
        backend=target.backend,
        processors=placement.server,
        host="127.0.0.1",
        path=target.path,
    )
    aim = Aim("", target.trust_pem, SERVER_NAME, processors=placement.generator)
    return _Prepared(request.experiment, info, aim, unavailable, target.start)


def _trust(request: Request) -> str:
    if request.insecure:
        return "anyone"
    if request.authority is None:
        return "system"
    try:
        return request.authority.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--ca {request.authority}: {getattr(error, 'strerror', 'not PEM')}"
        ) from None


def _open(
    request: Request,
    prepared: _Prepared,
    engine: Engine,
    warnings: Sequence[str],
    observer: events.Observer,
) -> tuple[RunFolder, Plan]:
    """The folder to resume, if it is of the same experiment and target, or else a new one."""
    if request.resume is not None:
        folder = RunFolder.open(request.resume)
        _refuse_other(folder, request, prepared)
        return folder, folder.plan()
    seed = random.SystemRandom().getrandbits(32) if request.seed is None else request.seed
    plan = make_plan(prepared.experiment, seed, prepared.unavailable)
    if not plan.cells:
        reasons = "; ".join(dict.fromkeys(excluded.reason for excluded in plan.excluded))
        raise UsageError(f"no cell is left to run: {reasons}")
    placement = place(prepared.info.managed)
    warnings, primitives = list(warnings), None
    try:
        document = prepared.experiment.workload.document_bytes
        primitives = measure_primitives(engine, plan, document, placement.generator)
    except EngineError as error:
        warnings.append(f"no limits: the primitives could not be measured: {error.message}")
        observer(events.Warned(warnings[-1]))
    environment = describe(prepared.info, placement, request.command, warnings, primitives)
    path = request.out or default_folder(prepared.experiment.name, prepared.info)
    return RunFolder.create(path, dumps(prepared.experiment), plan, environment), plan


def _refuse_other(folder: RunFolder, request: Request, prepared: _Prepared) -> None:
    if folder.experiment_text() != dumps(prepared.experiment):
        raise UsageError(f"{folder.path} holds another experiment than the one asked for")
    earlier = folder.environment().target.name
    if earlier != prepared.info.name:
        raise UsageError(f"{folder.path} holds a run against '{earlier}'")
    if request.seed not in (None, folder.plan().seed):
        raise UsageError(f"{folder.path} was planned with the seed {folder.plan().seed}")


def default_folder(experiment: str, target: TargetInfo) -> Path:
    """`runs/EXPERIMENT-TARGET-TIME`; of an external target only harmless characters of the host."""
    name = target.name if target.managed else re.sub(r"[^A-Za-z0-9.-]", "_", target.host)[:64]
    now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    return Path("runs") / f"{experiment}-{name}-{now}"
