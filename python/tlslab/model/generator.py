"""The processor use of a run's generators."""

from collections.abc import Iterator

from tlslab.model.record import HostPart, RunRecord


def generator_busy(record: RunRecord) -> float:
    """The share of its time for which the busiest worker computed; 0 if no worker measured it.

    With several generators that share a processor: the share of the processor's time that they used
    together.
    """
    if not record.hosts:
        return max((worker.busy for worker in record.workers if worker.seconds > 0), default=0.0)
    shares: dict[object, float] = {}
    for host in record.hosts:
        for place, busy in _of_host(host):
            shares[place] = shares.get(place, 0.0) + busy
    return max(shares.values(), default=0.0)


def _of_host(host: HostPart) -> Iterator[tuple[object, float]]:
    """For each worker of a host: the processor, and the worker's share of its time."""
    machine = host.found.boot_id if host.found is not None else None
    for number, worker in enumerate(host.workers):
        is_known = machine is not None and worker.processor is not None
        place = (machine, worker.processor) if is_known else (host.name, f"worker {number}")
        if worker.seconds > 0:
            yield place, worker.busy
