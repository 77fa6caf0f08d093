"""One trial: a cell's runs against a running server."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tlslab.contract.record import RunRecord
from tlslab.domain.errors import CannotRunError, EngineError
from tlslab.domain.events import EngineEnded, EngineReport, GeneratorLost, Pace
from tlslab.domain.names import NO_TLS
from tlslab.domain.plan import Cell, PlannedTrial
from tlslab.domain.trial import Reason, RunKind, Trial, TrialRun, TrialStatus
from tlslab.domain.workload import NO_WINDOW, Window, Workload
from tlslab.lab.engine import Event
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.generators.pool import LostInRunError
from tlslab.lab.metering.meter import Meter
from tlslab.lab.metering.side import Side, SideMeter
from tlslab.lab.probing import Probed
from tlslab.lab.served_key import check_certificate
from tlslab.lab.specs import Aim, run_spec
from tlslab.servers import Running

# The engine's failure classes for a handshake that the server does not support, and the alerts of
# them that say nothing about the handshake's parameters (RFC 8446, section 6).
UNSUPPORTED_PREFIXES = ("alert_", "unexpected", "unsupported", "closed_handshake")
OTHER_ALERTS = ("alert_internal_error", "alert_user_canceled", "alert_close_notify")

# The engine's class for a feature that its own back ends lack.
CLIENT_LACKS = "unsupported"

# The engine's class for a server that resumes no session.
NOT_RESUMED = "unexpected_kind"

SERVER_DIED = "server_died"


class GivenUpError(EngineError):
    """A run given up after the loss of a generator; `run` has the measurement until then."""

    def __init__(self, error: LostInRunError, run: TrialRun) -> None:
        super().__init__(error.class_, error.message, error.remedy)
        self.run = run


@dataclass(frozen=True)
class Bench:
    """The shared state of a run's trials; `running` is None for an external server.

    `probed`: the probe's findings before the first trial. `settings`: those of the experiment's
    kind. `side`: reads the processor time of an external server.
    """

    engine: GeneratorPool
    workload: Workload
    aim: Aim
    running: Running | None
    probed: Probed = field(default_factory=Probed)
    settings: Any = None
    side: Side | None = None


def run_trial(
    bench: Bench,
    planned: PlannedTrial,
    cell: Cell,
    on_report: Callable[[RunKind, EngineReport], None],
) -> Trial:
    """Runs a cell once and returns its trial; a failure is a result, not an exception."""
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    runs: dict[RunKind, TrialRun] = {}
    workload = bench.workload.of(cell.factors)
    status: TrialStatus = "done"
    reason = bench.probed.refused.get(cell.key)
    if reason is not None:
        status = "unsupported"
    else:
        try:
            for kind in run_order(planned.block, run_kinds(workload)):
                spec = run_spec(bench.aim, cell.profile, workload, kind)
                runs[kind] = run_engine(bench, spec, partial(on_report, kind))
                check_certificate(cell, runs[kind].record)
                assert (cell.profile.tls == NO_TLS) == (runs[kind].record.backend == NO_TLS)
        except EngineError as error:
            gone = died(bench, error)
            lacking = not gone and not runs and is_unsupported(error, cell, bench.probed)
            status = "unsupported" if lacking else "failed"
            reason = last_words(bench) if gone else Reason(error.class_, error.message)
            runs = evidence(error, kind)
    return Trial(
        trial=planned.trial,
        block=planned.block,
        position=planned.position,
        cell=cell.key,
        factors=cell.factors,
        started=started,
        status=status,
        reason=reason,
        runs=runs,
    )


def failed_trial(planned: PlannedTrial, cell: Cell, reason: Reason) -> Trial:
    """A trial that could not be run, with the reason."""
    return Trial(
        trial=planned.trial,
        block=planned.block,
        position=planned.position,
        cell=cell.key,
        factors=cell.factors,
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        status="failed",
        reason=reason,
    )


def is_unsupported(error: EngineError, cell: Cell, probed: Probed) -> bool:
    """Whether a failed preflight means that client or server does not support the cell.

    Nothing that the server accepted in the probe counts as unsupported.
    """
    if error.class_ == CLIENT_LACKS:
        return True
    if error.class_ in OTHER_ALERTS:
        return False
    return error.class_.startswith(UNSUPPORTED_PREFIXES) and cell.key not in probed.supported


def run_kinds(workload: Workload) -> tuple[RunKind, ...]:
    """The kinds of a trial's runs: those that have a window."""
    windows: dict[RunKind, Window | None] = {
        "capacity": workload.capacity,
        "client_cost": workload.client_cost,
        "keep_alive": workload.keep_alive.window if workload.keep_alive else None,
    }
    return tuple(kind for kind, window in windows.items() if window not in (None, NO_WINDOW))


def run_order(block: int, kinds: tuple[RunKind, ...]) -> tuple[RunKind, ...]:
    """The runs of a trial in an order that changes by block, so that no kind always comes last."""
    first = block % len(kinds)
    return kinds[first:] + kinds[:first]


def run_engine(
    bench: Bench,
    spec: Mapping[str, Any],
    on_report: Callable[[EngineReport], None] = lambda report: None,
    most: int | None = None,
) -> TrialRun:
    """One run of the engine, with the use of server and machine during its measurement.

    `most`: the number of generators that make load; None for all. Raises EngineError, with the
    class `server_died` if the server died, and GivenUpError for a lost generator.
    """
    watch = _Watch(bench.running, on_report, bench.side)
    lost: LostInRunError | None = None
    try:
        record = bench.engine.run(spec, watch, None, most)
    except LostInRunError as error:
        if error.record is None:
            raise
        record, lost = error.record, error
    finally:
        watch.close()
    if watch.server_changed():
        raise EngineError(SERVER_DIED, "the server died")
    if not watch.meter.complete:
        raise lost or EngineError("engine_failed", "the engine did not report when it measured")
    run = watch.run_of(record)
    if lost is not None:
        raise GivenUpError(lost, run)
    return run


def evidence(error: EngineError, kind: RunKind) -> dict[RunKind, TrialRun]:
    """The part of a run that a failed trial keeps: the measurement before a generator was lost."""
    return {kind: error.run} if isinstance(error, GivenUpError) else {}


def died(bench: Bench, error: EngineError) -> bool:
    """Whether a run has failed because its server has died."""
    alive = bench.running is None or bench.running.process.alive()
    return error.class_ == SERVER_DIED or not alive


def last_words(bench: Bench) -> Reason:
    """The reason of a trial whose server died, with the server's last messages."""
    words = bench.running.process.last_words() if bench.running else ""
    return Reason(
        "server_died", "the server died during the trial" + (f": {words}" if words else "")
    )


class _Watch:
    """Listens to one run's events: meters the server in the measurement, passes reports on."""

    def __init__(
        self, running: Running | None, on_report: Callable[[EngineReport], None], side: Side | None
    ) -> None:
        self._running = running
        self._on_report = on_report
        self._tree = running.process.tree() if running else []
        self._counted: list[int] = []
        self._side = None if side is None else SideMeter(side)
        self._meter = Meter(self._tree)

    def __call__(self, event: Event) -> None:
        if event["event"] == "phase":
            self._on_phase(event)
        elif event["event"] == "preflight" and self._side is not None:
            self._side.locate(str(event["address"]))
        elif event["event"] == "progress":
            pace = Pace.of(event)
            self._on_report(replace(pace, server_processors=self.meter.server_processors()))
        elif event["event"] == "ended":
            self._on_report(EngineEnded.of(event))
        elif event["event"] == "lost":
            self._on_report(GeneratorLost.of(event))

    def _on_phase(self, event: Mapping[str, Any]) -> None:
        if event["phase"] == "measure":
            (self._side or self.meter).start()
        elif event["phase"] in ("drain", "done") and not self.meter.complete:
            # Without anything to drain, the engine may end before it reports the drain.
            (self._side or self.meter).end()
        else:
            return
        try:
            count = self._running.handshakes() if self._running else None
        except (CannotRunError, OSError):
            return  # A server that has died is detected after the run.
        if count is not None:
            self._counted.append(count)

    @property
    def meter(self) -> Meter:
        """The meter of this machine and of the server's processes."""
        return self._meter if self._side is None else self._side.meter

    def close(self) -> None:
        """Ends everything that reads beside the run."""
        (self._side or self.meter).close()

    def run_of(self, record: RunRecord) -> TrialRun:
        """The run with the resource use of server and machine."""
        machine = self.meter.machine()
        if self._side is None:
            return TrialRun(record, machine, self.meter.server(self._handshakes))
        server, side = self._side.result()
        return TrialRun(record, machine, server, side=side)

    @property
    def _handshakes(self) -> int | None:
        """The server's own count over the measurement; None if it keeps none."""
        return self._counted[1] - self._counted[0] if len(self._counted) == 2 else None

    def server_changed(self) -> bool:
        """Whether a process of the server has ended, so that its time is missing."""
        if self._running is None:
            return False
        before = {process.pid for process in self._tree}
        return not before <= {process.pid for process in self._running.process.tree()}


def warm_up(
    bench: Bench, cell: Cell, length_ms: int, on_report: Callable[[EngineReport], None]
) -> None:
    """Makes new connections of a cell for N milliseconds, before a fresh server's first trial.

    Some servers get cheaper while they warm up. Failures are reported by the trials.
    """
    workload = bench.workload.of(cell.factors).warming_up(length_ms)
    spec = run_spec(bench.aim, cell.profile, workload, "capacity")
    try:
        run_engine(bench, spec, on_report)
    except EngineError:
        return
