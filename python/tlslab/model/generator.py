"""The processor use of a run's generators."""

from collections.abc import Iterable, Iterator, Sequence

from tlslab.model.record import HostPart, RunRecord, Supply, Verdict, WorkerUsage

# The engine's verdicts on workers that were ready and did not run: so much of the time that rates
# are lower bounds, or that the figures may not be used.
DELAYED, STARVED = "client_delayed", "client_starved"


def generator_busy(record: RunRecord) -> float:
    """The share of the time left to them for which the busiest workers computed; 0 without any.

    Workers on one processor count together, those of several generators on one machine, too.
    """
    return max(
        (
            _busy(workers, processors, throttled_s)
            for machine in _machines(record)
            for workers, processors, throttled_s in _places(*machine)
        ),
        default=0.0,
    )


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


def _places(
    workers: Sequence[WorkerUsage], supply: Supply
) -> Iterator[tuple[list[WorkerUsage], int, float]]:
    """Workers of a machine that share processors, the number of these processors, and the seconds
    for which a quota withheld them (`places` in the engine).
    """
    throttled_s = supply.throttled_s or 0.0
    pinned: dict[int, list[WorkerUsage]] = {}
    free: list[WorkerUsage] = []
    for worker in (each for each in workers if each.seconds > 0):
        if worker.processor is None:
            free.append(worker)
        else:
            pinned.setdefault(worker.processor, []).append(worker)
    for sharing in pinned.values():
        yield sharing, 1, throttled_s
    if supply.processors and supply.processors < len(free):
        yield free, supply.processors, throttled_s
    else:
        for worker in free:
            yield [worker], 1, throttled_s


def _machines(record: RunRecord) -> Iterable[tuple[list[WorkerUsage], Supply]]:
    """The workers of each machine, and what it let them use.

    Without the leader's observation a generator is taken to have a machine of its own.
    """
    if not record.hosts:
        return [(list(record.workers), record.supply)]
    machines: dict[tuple[str, str], list[HostPart]] = {}
    for host in record.hosts:
        boot_id = host.found.boot_id if host.found is not None else None
        machine = ("boot", boot_id) if boot_id else ("name", host.name)
        machines.setdefault(machine, []).append(host)
    return [
        ([worker for host in hosts for worker in host.workers], _together(hosts))
        for hosts in machines.values()
    ]


def _together(hosts: Sequence[HostPart]) -> Supply:
    """What a machine let several generators use; those of one control group report the same."""
    return Supply(
        processors=max((host.supply.processors or 0 for host in hosts), default=0) or None,
        throttled_s=max((host.supply.throttled_s or 0.0 for host in hosts), default=0.0),
    )
