"""The servers of a run: each deployment that its cells need, set up before the first trial."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from tlslab.domain.configuration import Configuration
from tlslab.domain.deployment import NO_FRONT, Deployment
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.domain.experiment import Experiment
from tlslab.domain.names import CERTIFICATE_KEYS, OBSOLETE_KEYS
from tlslab.domain.plan import Cell
from tlslab.domain.proof_settings import settings_of
from tlslab.domain.run import Deployed, TargetInfo
from tlslab.domain.wording import counted, level_label
from tlslab.experiment import make_cells, refuse_levels, short
from tlslab.lab.discovery import discover
from tlslab.lab.foresee import refuse_factors_of_own_servers
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.metering.side import Side
from tlslab.lab.placement import Placement, may_run_in_real_time, place, usable
from tlslab.lab.request import Request
from tlslab.lab.specs import Aim
from tlslab.servers import Running, Setting, build, find_kind, lacking, with_one_key
from tlslab.servers.address import LOOPBACK
from tlslab.servers.certificates import server_name

# The settings of a managed server if the experiment names none: every client supports them.
DEFAULT_KEYS = ("ecdsa-p256",)
DEFAULT_GROUPS = ("X25519", "P-256", "P-384", "P-521")

NO_SUCH_KEY = "the lab makes no certificates with such a key"


@dataclass(frozen=True)
class Prepared:
    """A deployment that is ready to start; otherwise `failure` has the reason, in the server's
    words, and `error` the error behind it.

    `start` is None for a server that the lab did not start. For such a server, `side` reads its
    processor time, and `switch`, if present, brings the server to the deployment's configuration.
    `unavailable`: the levels that the server lacks, with reasons. `bar`: a reason that applies to
    all its cells.
    """

    info: TargetInfo
    aim: Aim
    start: Callable[[], Running] | None = None
    unavailable: Mapping[tuple[str, str], str] = field(default_factory=dict)
    bar: str | None = None
    failure: str = ""
    error: CannotRunError | None = None
    side: Side | None = None
    switch: Callable[[], None] | None = None

    def refuse(self, cell: Cell) -> str | None:
        """The reason that the server cannot run a cell; None if it can."""
        return self.bar or refuse_levels(self.unavailable)(cell)


@dataclass(frozen=True)
class Servers:
    """All deployments of a run, and the experiment adapted to them (see `lab.discovery`)."""

    experiment: Experiment
    prepared: Mapping[Deployment, Prepared]
    generator: tuple[int, ...]

    def of(self, cell: Cell) -> Prepared:
        """The server of a cell; a plan of an older version has only one and does not name it."""
        if cell.deployment is None and len(self.prepared) == 1:
            return next(iter(self.prepared.values()))
        if cell.deployment is None or cell.deployment not in self.prepared:
            raise UsageError(f"the cell {cell.key} was planned for another server")
        return self.prepared[cell.deployment]

    def refuse(self, cell: Cell) -> str | None:
        """The reason that a cell cannot be run; None if it can."""
        return self.of(cell).refuse(cell)

    @property
    def deployed(self) -> tuple[Deployed, ...]:
        """The entry of each deployment in the run's record."""
        return tuple(
            Deployed(deployment, each.info, each.failure)
            for deployment, each in self.prepared.items()
            if each.bar is None
        )

    @property
    def target(self) -> TargetInfo:
        """All servers as one target."""
        infos = [each.info for each in self.prepared.values() if each.bar is None]
        infos = infos or [each.info for each in self.prepared.values()]
        if len(infos) == 1:
            return infos[0]

        def joined(texts: Sequence[str]) -> str:
            return "; ".join(dict.fromkeys(text for text in texts if text))

        return TargetInfo(
            name=joined([info.name for info in infos]).replace("; ", ","),
            managed=all(info.managed for info in infos),
            software=joined([info.software for info in infos]),
            backend=joined([info.backend for info in infos]),
            processors=max((info.processors for info in infos), key=len),
            host=joined([info.host for info in infos]).replace("; ", ","),
            path=joined([info.path for info in infos]),
        )

    def warnings(self) -> tuple[str, ...]:
        """Warnings for the reader on the setup of the servers."""
        reported = []
        for deployment, each in self.prepared.items():
            if each.failure:
                reported.append(f"{name_of(deployment)} could not be set up: {each.failure}")
            if set(each.info.processors) & set(self.generator):
                processors = counted(len(each.info.processors), "processor")
                reported.append(
                    f"{name_of(deployment)} with {processors} shares the "
                    "last one with the generator: its rates are too low; use a machine with more "
                    "processors"
                )
        return tuple(dict.fromkeys(reported))


def name_of(deployment: Deployment) -> str:
    """A deployment in words: its server, and its front if it has one."""
    if deployment.front == NO_FRONT:
        return deployment.server
    return f"{deployment.server} {level_label('front', deployment.front)}"


def prepare(
    request: Request,
    engine: GeneratorPool,
    private: Path,
    more: Sequence[Cell] = (),
    warmed_up: bool = True,
) -> Servers:
    """Sets up every deployment for the experiment's cells and for the `more` cells.

    `warmed_up`: fresh servers that need a warm-up are loaded before their first trial, and servers
    that get slower are restarted for each trial. Capacity experiments find the end of the warm-up
    themselves.

    A deployment that cannot be set up fails alone. Raises UsageError for unknown targets,
    CannotRunError if no deployment can be set up.
    """
    if request.external:
        return _external(request, engine)
    _refuse_options_of_urls(request)
    by_deployment: dict[Deployment, list[Cell]] = {}
    for cell in (*make_cells(request.experiment, request.targets[0])[0], *more):
        assert cell.deployment is not None
        by_deployment.setdefault(cell.deployment, []).append(cell)
    counts = [deployment.levels.number("processors") or 1 for deployment in by_deployment]
    most = max((count for count in counts if count <= len(usable())), default=1)
    prepared = {
        deployment: _managed(
            request, deployment, cells, private / str(number), most, warmed_up, engine.size
        )
        for number, (deployment, cells) in enumerate(by_deployment.items())
    }
    errors = [each.error for each in prepared.values() if each.error is not None]
    if errors and not any(not each.failure and each.bar is None for each in prepared.values()):
        raise errors[0]
    generator = place(managed=True, most=most, generators=engine.size).generator
    return Servers(request.experiment, prepared, generator)


def _refuse_options_of_urls(request: Request) -> None:
    """Refuses options that apply only to the server of a URL. Raises UsageError."""
    given = {
        "--configure": request.hook is not None,
        "--ca": request.authority is not None,
        "--insecure": request.insecure,
        "--server-metrics": request.server_metrics is not None,
        "--proof": request.proof is not None,
    }
    for option, is_given in given.items():
        if is_given:
            raise UsageError(
                f"{option} is for a server that the lab did not start",
                f"leave {option} out, or give that server: --target URL",
            )


def _external(request: Request, engine: GeneratorPool) -> Servers:
    """The servers of URLs, which the lab does not start. Raises UsageError, CannotRunError."""
    _refuse_options_of_managed(request)
    refuse_factors_of_own_servers(request.experiment)
    generator = place(managed=False, generators=engine.size).generator
    aims = [
        Aim(
            url=url,
            trust=request.trust(),
            allow=request.allow,
            proof=request.proof,
            processors=generator,
            expect_status=request.experiment.workload.expect_status,
        )
        for url in request.targets
    ]
    side = Side.of(request.server_metrics)
    configured = frozenset() if request.hook is None else request.hook.fields
    found = discover(engine, aims, request.experiment, configured, request.spare_versions)
    ready = {
        aim.url: Prepared(server.info, aim, None, server.unavailable, side=side)
        for aim, server in zip(aims, found.servers, strict=True)
    }
    cells = make_cells(found.experiment, request.targets[0])[0]
    for url in request.targets if len(request.targets) > 1 else ():
        _require_cells(url, ready[url], cells)
    deployments = dict.fromkeys(cell.deployment for cell in cells if cell.deployment)
    return Servers(
        found.experiment,
        {each: ready[each.server] for each in deployments or [Deployment(request.targets[0])]},
        generator,
    )


def _require_cells(url: str, ready: Prepared, cells: Sequence[Cell]) -> None:
    """Raises UsageError, with the reasons, if one of several servers can run no cell."""
    own = [cell for cell in cells if cell.deployment and cell.deployment.server == url]
    reasons = [ready.refuse(cell) for cell in own]
    if all(reasons):
        raise UsageError(
            f"no cell is left to run on {url}: {'; '.join(dict.fromkeys(filter(None, reasons)))}",
            "choose other levels with --set, or leave this server out",
        )


def _refuse_options_of_managed(request: Request) -> None:
    """Refuses options that do not fit servers that the lab did not start. Raises UsageError."""
    if request.listen is not None:
        raise UsageError(
            "--listen is for a server that the lab starts",
            "leave --listen out, or give --target NAME",
        )
    hosts = dict.fromkeys(_host(url) for url in request.targets)
    if request.server_metrics is not None and len(hosts) > 1:
        raise UsageError(
            f"--server-metrics reads one host, and the servers are on {len(hosts)}: "
            f"{', '.join(hosts)}",
            "leave --server-metrics out, or make a run for each host",
        )


def _host(url: str) -> str:
    """The host of a URL; loopback by its address alone."""
    host = urlsplit(url).hostname or ""
    return LOOPBACK if host in ("localhost", "::1") else host


def _managed(
    request: Request,
    deployment: Deployment,
    cells: Sequence[Cell],
    folder: Path,
    most: int,
    warmed_up: bool,
    generators: int,
) -> Prepared:
    kind = find_kind(deployment.server)
    count = deployment.levels.number("processors") or 1
    placement = place(True, count=min(count, len(usable())), most=most, generators=generators)
    keys = _keys(cells)
    known = (*CERTIFICATE_KEYS, *(OBSOLETE_KEYS if deployment.obsolete else ()))
    unavailable = {("key", key): NO_SUCH_KEY for key in keys if key not in known}
    aim = Aim("", processors=placement.generator)
    info = TargetInfo(name_of(deployment), True, "", "", placement.server, request.listens_on, "")
    if count > len(usable()):
        reason = f"this machine has {counted(len(usable()), 'processor')}, {count} are asked for"
        return Prepared(info, aim, bar=reason)
    if lacks := lacking(deployment):
        return Prepared(info, aim, bar=lacks)
    folder.mkdir(parents=True)
    setting = replace(
        _setting(request.experiment, deployment, cells, folder, placement),
        listen=request.listens_on,
    )
    try:
        target = build(deployment, setting)
        unavailable |= target.prepare() | with_one_key(deployment, setting.keys)
    except CannotRunError as error:
        words = f"{error.message}: {error.remedy}" if error.remedy else error.message
        return Prepared(info, aim, failure=words, error=error)
    info = TargetInfo(
        name=target.name,
        managed=True,
        software=target.software,
        backend=target.backend,
        processors=placement.server,
        host=request.listens_on,
        path=target.path,
        warm_up_ms=short.warmed_up(kind.warm_up_ms) if warmed_up else 0,
        fresh_per_trial=kind.restart_per_trial and warmed_up,
    )
    aim = Aim(
        "",
        target.trust_pem,
        server_name(setting.configuration),
        # The lab starts the server, so that no other server is loaded.
        allow=() if request.listen is None else (request.listen,),
        processors=placement.generator,
        realtime=placement.alone and may_run_in_real_time(),
        expect_status=request.experiment.workload.expect_status,
    )
    return Prepared(info, aim, target.start, unavailable)


def _setting(
    experiment: Experiment,
    deployment: Deployment,
    cells: Sequence[Cell],
    folder: Path,
    placement: Placement,
) -> Setting:
    workload = experiment.workload
    keys = _keys(cells)
    versions = {workload.of(cell.factors).http for cell in cells}
    if workload.keep_alive is not None and workload.keep_alive.http is not None:
        versions.add(workload.keep_alive.http)
    return Setting(
        folder=folder,
        keys=tuple(key for key in keys if key in CERTIFICATE_KEYS or deployment.obsolete),
        groups=_levels(cells, "group", experiment) or DEFAULT_GROUPS,
        document_bytes=deployment.levels.number("document_bytes") or workload.document_bytes,
        processors=placement.server,
        http2="2" in versions,
        resume=deployment.resume,
        suites=_suites(cells),
        obsolete=deployment.obsolete,
        configuration=_configuration(experiment, deployment),
    )


def _configuration(experiment: Experiment, deployment: Deployment) -> Configuration | None:
    """The TLS configuration of a proof for a deployment, if there is one."""
    name = deployment.levels.get("configuration")
    return None if name is None else settings_of(experiment).configuration(name)


def _levels(cells: Sequence[Cell], factor: str, experiment: Experiment) -> tuple[str, ...]:
    """The levels of a factor in a deployment's cells, in the experiment's order."""
    if cells[0].deployment is not None and cells[0].deployment.obsolete:
        return tuple(dict.fromkeys(c.factors[factor] for c in cells if factor in c.factors))
    used = {cell.factors.get(factor) for cell in cells}
    return tuple(level for level in experiment.levels(factor) if level in used)


def _keys(cells: Sequence[Cell]) -> tuple[str, ...]:
    """The certificate keys that the cells need."""
    return tuple(dict.fromkeys(c.profile.key for c in cells if c.profile.key)) or DEFAULT_KEYS


def _suites(cells: Sequence[Cell]) -> tuple[str, ...]:
    """The suites that the cells need; none if one of them leaves the choice open."""
    if not all(cell.profile.suites for cell in cells):
        return ()
    return tuple(dict.fromkeys(suite for cell in cells for suite in cell.profile.suites))
