"""The processor use of a run's generators."""

from collections.abc import Iterator, Sequence

from tlslab.model.record import RunRecord, Verdict, WorkerUsage

# The engine's verdicts on workers that were ready and did not run: so much of the time that rates
# are lower bounds, or that the figures may not be used.
DELAYED, STARVED = "client_delayed", "client_starved"


def generator_busy(record: RunRecord) -> float:
    """The share of the time left to them for which the busiest workers computed; 0 without any.

    Workers on one processor count together, those of several generators on one machine, too.
    """
    throttled_s = record.supply.throttled_s or 0.0
    return max((_busy(*place, throttled_s) for place in _places(record)), default=0.0)


def time_lost(record: RunRecord) -> Verdict | None:
    """The engine's verdict on time that the generator lost; None if it did not matter."""
    lost = (each for each in record.verdicts if each.code in (DELAYED, STARVED))
    return max(lost, key=lambda each: each.code == STARVED, default=None)


def _busy(workers: Sequence[WorkerUsage], processors: int, throttled_s: float) -> float:
    """The rule of `Place` in the engine's record/usage.rs."""
    each = len(workers) / processors

    def mean(shares: Iterator[float]) -> float:
        return sum(shares) / len(workers)

    used = each * mean(w.cpu.total_us / (w.seconds * 1e6) for w in workers)
    kept_off = mean((w.stolen or 0.0) + w.stopped_s / w.seconds for w in workers)
    if all(worker.queued_s is not None for worker in workers):
        queued = each * mean((w.queued_s or 0.0) / w.seconds for w in workers)
        busy = [w.processor_busy for w in workers if w.processor_busy is not None]
        if busy and len(workers) > 1:
            # Several workers also wait for each other.
            withheld = throttled_s / (processors * mean(w.seconds for w in workers))
            queued = min(queued, max(max(busy) - used, 0.0) + withheld)
        kept_off += min(queued, max(1 - used, 0.0))
    # The shares do not begin and end at the same instants.
    left = max(1 - kept_off, min(used, 1.0))
    return used / left if left > 0 else 0.0


def _places(record: RunRecord) -> Iterator[tuple[list[WorkerUsage], int]]:
    """Workers that share processors, with the number of these processors (`places` there)."""
    pinned: dict[object, list[WorkerUsage]] = {}
    free: list[WorkerUsage] = []
    for machine, workers in _machines(record):
        for worker in (each for each in workers if each.seconds > 0):
            if worker.processor is None:
                free.append(worker)
            else:
                pinned.setdefault((machine, worker.processor), []).append(worker)
    for workers in pinned.values():
        yield workers, 1
    processors = record.supply.processors
    if processors and processors < len(free) and not record.hosts:
        yield free, processors
    else:
        for worker in free:
            yield [worker], 1


def _machines(record: RunRecord) -> Iterator[tuple[object, Sequence[WorkerUsage]]]:
    """The workers of each generator, with the machine that its processors are of."""
    if not record.hosts:
        yield None, record.workers
    for host in record.hosts:
        machine = host.found.boot_id if host.found is not None else None
        yield ("boot", machine) if machine else ("name", host.name), host.workers
