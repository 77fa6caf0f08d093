"""The samples of a run: each cell once more, under perf, after the measured trials (ADR 0074)."""

import contextlib
import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import psutil

from tlslab.analysis.measures import server_cost_us
from tlslab.contract.record import RunRecord
from tlslab.domain import events
from tlslab.domain.errors import CannotRunError, EngineError, StoreError
from tlslab.domain.plan import Cell, Plan
from tlslab.domain.stacks import CellStacks
from tlslab.domain.workload import NO_WINDOW, Window, Workload
from tlslab.lab.engine import Event, Listener
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.serving import Benches, NoBenchError
from tlslab.lab.specs import run_spec
from tlslab.lab.store import RunFolder
from tlslab.lab.trial import Bench, run_engine, warm_up
from tlslab.lab.why.perf import Recorder, hertz_of, samples_kernel, why_not
from tlslab.servers import find_kind

# The sampled window; perf needs a moment of it to start.
MEASURE_MS = 2_300


# The time beside the window, for starting the engine and perf, and for unwinding.
_OVERHEAD_S = 4.0


def sampling_seconds(cells: int, workload: Workload) -> float:
    """The time for the samples of N cells, in seconds."""
    return cells * ((workload.capacity.warmup_ms + MEASURE_MS) / 1000 + _OVERHEAD_S)


class SampledPool:
    """A pool whose runs are sampled while they measure; other calls go to the pool unchanged."""

    def __init__(self, pool: GeneratorPool, recorder: Recorder, pids: Sequence[int]) -> None:
        self._pool = pool
        self._recorder = recorder
        self._pids = pids

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def run(
        self,
        spec: Mapping[str, Any],
        listener: Listener,
        trace: Path | None = None,
        most: int | None = None,
    ) -> RunRecord:
        """One run, with perf from the start of its measurement to the end."""

        def listen(event: Event) -> None:
            listener(event)
            if event["event"] == "phase" and event["phase"] == "measure":
                self._recorder.start(self._pids)
            elif event["event"] == "phase":
                self._recorder.stop()

        return self._pool.run(spec, listen, trace, most)


def sample(
    plan: Plan, benches: Benches, folder: RunFolder, private: Path, observer: events.Observer
) -> None:
    """Samples each cell that has a trial and no samples yet; a failure is kept as its reason."""
    trials = folder.trials()
    done = {each.cell for each in folder.stacks() if not each.reason}
    usable = {trial.cell for trial in trials if trial.status == "done"}
    wanted = [c for c in plan.cells if c.key in usable and c.key not in done]
    if not wanted:
        return
    if reason := why_not():
        observer(events.NotSampled(reason))
        for cell in wanted:
            folder.append_stacks(without(cell, reason))
        return
    started = 0
    for _, cells in groupby(_grouped(wanted), key=lambda cell: cell.deployment):
        for each in _on_server(list(cells), plan, benches, private / "perf.data"):
            started += 1
            observer(events.Sampled(each.cell, started, len(wanted), each.reason))
            folder.append_stacks(each)


def _grouped(cells: Sequence[Cell]) -> list[Cell]:
    """The cells, grouped by deployment."""
    order = list(dict.fromkeys(cell.deployment for cell in cells))
    return sorted(cells, key=lambda cell: order.index(cell.deployment))


def _on_server(
    cells: Sequence[Cell], plan: Plan, benches: Benches, data: Path
) -> Iterator[CellStacks]:
    """The samples of a deployment's cells, on a fresh server."""
    deployment = cells[0].deployment
    reason = "" if deployment is None else find_kind(deployment.server).no_samples
    if reason:
        yield from (without(cell, reason) for cell in cells)
        return
    prepared = benches.servers.of(cells[0])
    left = list(cells)
    try:
        with benches.on(prepared, deployment, plan.cells) as bench:
            if prepared.info.warm_up_ms:
                warm_up(bench, cells[0], prepared.info.warm_up_ms, lambda pace: None)
            while left:
                found = _sample(bench, left[0], data)
                left.pop(0)
                yield found
    except StoreError:
        raise
    except (NoBenchError, EngineError, CannotRunError) as error:
        yield from (without(cell, str(error)) for cell in left)


def _sample(bench: Bench, cell: Cell, data: Path) -> CellStacks:
    workload = bench.workload.of(cell.factors)
    if workload.capacity == NO_WINDOW:
        return without(cell, "the experiment has no run of new connections")
    assert bench.running is not None  # The lab started the server.
    window = Window(workload.capacity.warmup_ms, MEASURE_MS)
    spec = run_spec(bench.aim, cell.profile, replace(workload, capacity=window), "capacity")
    kernel = samples_kernel()
    processes = bench.running.process.tree()
    pids = [process.pid for process in processes]
    hertz = hertz_of(processors_of(processes))
    recorder = Recorder(data, bench.aim.processors, kernel, hertz)
    try:
        run = run_engine(replace(bench, engine=SampledPool(bench.engine, recorder, pids)), spec)
    finally:
        recorder.end()
    try:
        folded = recorder.folded()
    finally:
        data.unlink(missing_ok=True)
    if not folded.samples:
        return without(cell, "perf took no sample")
    return CellStacks(
        cell.key,
        cell.factors,
        _now(),
        "",
        hertz,
        kernel,
        folded.lost,
        server_cost_us(run),
        folded.text,
    )


def processors_of(processes: Sequence[psutil.Process]) -> int:
    """The number of processors that these processes can use, by affinity and threads."""
    usable, threads = set[int](), 0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            usable.update(process.cpu_affinity())
            threads += process.num_threads()
    return max(1, min(len(usable), threads))


def without(cell: Cell, reason: str) -> CellStacks:
    """A cell without samples, with the reason."""
    return CellStacks(cell.key, cell.factors, _now(), reason)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def sampled(
    plan: Plan, benches: Benches, folder: RunFolder, private: Path, observer: events.Observer
) -> bool:
    """Samples the cells without samples; returns whether KeyboardInterrupt ended it early."""
    try:
        sample(plan, benches, folder, private, observer)
    except KeyboardInterrupt:
        return True
    return False
