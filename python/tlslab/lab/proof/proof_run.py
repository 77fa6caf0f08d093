"""A whole run of the kind `proof`, with two configurations side by side."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from tlslab.analysis.proof.deciding_ratios import still_open
from tlslab.domain import events
from tlslab.domain.configuration import BASELINE, CANDIDATE
from tlslab.domain.errors import CannotRunError, EngineError, UsageError
from tlslab.domain.events import EngineReport
from tlslab.domain.plan import Cell, Plan, PlannedTrial
from tlslab.domain.profile import Profile
from tlslab.domain.proof import SeenTls
from tlslab.domain.proof_settings import NEW, settings_of
from tlslab.domain.trial import RunKind, Trial
from tlslab.lab.conductor import ended_early
from tlslab.lab.deployments import Prepared, Servers, prepare
from tlslab.lab.engine import local_pool
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.matrix.agenda import BlocksAgenda, ending_of
from tlslab.lab.matrix.run_in_blocks import least_seconds, most_connections, trial_seconds
from tlslab.lab.opening import open_run, preflight
from tlslab.lab.private import private_folder
from tlslab.lab.proof.discover import client_named, discover, profile_of, with_profiles
from tlslab.lab.proof.reading import check_configurations
from tlslab.lab.proof.switch import Switch, command_of
from tlslab.lab.request import Request, Result
from tlslab.lab.results import summarise
from tlslab.lab.serving import Benches
from tlslab.lab.specs import Aim, preflight_spec
from tlslab.lab.trial import Bench, run_trial


class Live:
    """A server that two commands switch."""

    def __init__(self, engine: GeneratorPool, request: Request, observer: events.Observer) -> None:
        settings = settings_of(request.experiment)
        if not settings.apply or not settings.revert:
            raise UsageError(
                "a live server needs both commands", "give --apply COMMAND and --revert COMMAND"
            )
        self._engine = engine
        self._http = request.experiment.workload.http
        self._aim: Aim | None = None
        self._found: dict[str, SeenTls] = {}
        self.switch = Switch(
            apply=command_of(settings.apply, "--apply"),
            back=command_of(settings.revert, "--revert"),
            wrong=self._wrong,
            observer=observer,
            ready_s=request.ready_s,
            settle_s=request.settle_s,
        )

    def switched(self, servers: Servers) -> Servers:
        """The deployments, each with a switch to its configuration."""
        prepared = {
            deployment: replace(
                each, switch=partial(self.switch.to, str(deployment.levels.get("configuration")))
            )
            for deployment, each in servers.prepared.items()
        }
        self._aim = next(iter(prepared.values())).aim
        return replace(servers, prepared=prepared)

    def known(self, found: SeenTls) -> None:
        """Keeps the observed behaviour of a configuration; the server must then show it again."""
        self._found[found.name] = found

    def _wrong(self, name: str) -> str | None:
        """The difference from the server's earlier behaviour with this configuration, if any."""
        assert self._aim is not None
        found = self._found.get(name)
        profile = Profile() if found is None else profile_of(found)
        try:
            self._engine.preflight(preflight_spec(self._aim, profile, self._http))
        except EngineError as error:
            return f"it does not answer as it did at first: {error.message}"
        return None


def equal_words(found: Sequence[SeenTls]) -> str | None:
    """A warning for a live server that behaves the same with both configurations."""
    first, *others = (
        replace(each, name="", offered=replace(each.offered, unanswered=())) for each in found
    )
    if any(each != first for each in others):
        return None
    return (
        f"the server offers and does the same with {BASELINE} and {CANDIDATE}: did --apply change "
        f"anything, and had the server read it? If it needs longer, give --settle SECONDS"
    )


@contextmanager
def serving(prepared: Prepared) -> Iterator[Aim]:
    """The address of a deployment, served for the duration of the questions."""
    if prepared.start is None:
        if prepared.switch is not None:
            prepared.switch()
        yield prepared.aim
        return
    running = prepared.start()
    try:
        yield replace(prepared.aim, url=running.url)
    finally:
        running.stop()


def run_proof(request: Request, observer: events.Observer) -> Result:
    """Runs a proof, or its missing trials.

    Ends early, with the results so far, on KeyboardInterrupt. A live server is reverted whatever
    happens, and then checked against its first state. Raises UsageError, CannotRunError.
    """
    settings = settings_of(request.experiment)
    check_configurations(settings.configurations, settings.server)
    warnings = preflight(request, most_connections(request.experiment), observer)
    engine = local_pool()
    with private_folder() as private:
        servers = prepare(request, engine, private)
        if not request.external:
            return _carry_out(request, observer, servers, engine, warnings, lambda found: None)
        live = Live(engine, request, observer)
        try:
            servers = live.switched(servers)
            return _carry_out(request, observer, servers, engine, warnings, live.known)
        finally:
            live.switch.finish()


def _carry_out(
    request: Request,
    observer: events.Observer,
    servers: Servers,
    engine: GeneratorPool,
    warnings: Sequence[str],
    known: Callable[[SeenTls], None],
) -> Result:
    found = _found(request, engine, servers, known)
    if request.external and (words := equal_words(found)):
        warnings = (*warnings, words)
        observer(events.Unchanged(words))
    folder, plan = open_run(
        request, servers, engine, warnings, observer, lambda plan: amended(plan, found), found
    )
    experiment = servers.experiment
    observer(
        events.RunStarted(
            plan=plan,
            target=servers.target.name,
            folder=folder.path,
            done=len(folder.trials()),
            seconds_per_trial=trial_seconds(experiment.workload),
            at_least=least_seconds(experiment, plan),
        )
    )
    environment = folder.environment()
    ending = ending_of(experiment, plan, environment, still_open)
    agenda = BlocksAgenda(plan, Benches(engine, servers), observer, run_cell, environment, ending)
    early = ended_early(agenda, folder, request.sitting_s)
    return Result(folder.path, summarise(folder), early)


def run_cell(
    bench: Bench,
    planned: PlannedTrial,
    cell: Cell,
    on_report: Callable[[RunKind, EngineReport], None],
) -> Trial:
    """A trial: new clients with keep-alive requests, or returning clients with resumption."""
    workload = replace(bench.workload, resume=cell.profile.resume or "none")
    if cell.factors["clients"] != NEW:
        workload = replace(workload, keep_alive=None)
    return run_trial(replace(bench, workload=workload), planned, cell, on_report)


def amended(plan: Plan, found: Sequence[SeenTls]) -> Plan:
    """The plan with each cell's forced settings, without cells as which no client can connect."""
    cells = with_profiles(plan.cells, found)
    keys = {cell.key for cell in cells}
    kept = [trial for trial in plan.trials if trial.cell in keys]
    trials = tuple(replace(trial, trial=number) for number, trial in enumerate(kept))
    return replace(plan, cells=cells, trials=trials)


def _found(
    request: Request, engine: GeneratorPool, servers: Servers, known: Callable[[SeenTls], None]
) -> tuple[SeenTls, ...]:
    """The behaviour of each configuration, on a server of its own or on the live one."""
    client = client_named(settings_of(request.experiment).client)
    http = request.experiment.workload.http
    found = {}
    for deployment, prepared in servers.prepared.items():
        name = str(deployment.levels.get("configuration"))
        if prepared.error is not None:
            raise CannotRunError(f"the {name}: {prepared.error.message}", prepared.error.remedy)
        if prepared.bar:
            raise CannotRunError(f"the {name}: {prepared.bar}")
        with serving(prepared) as aim:
            found[name] = discover(engine, aim, name, client, http)
        known(found[name])
    return tuple(found[name] for name in (BASELINE, CANDIDATE))
