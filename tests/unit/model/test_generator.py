"""How busy generators were: workers that share processors count together, by machine."""

from dataclasses import replace

import pytest

from factories.capacity import made_by
from factories.run import made_run
from tlslab.model.generator import generator_busy
from tlslab.model.hosts import HostFound
from tlslab.model.record import CpuTime, RunRecord, Supply, WorkerUsage

RECORD = made_run(quick=True).trials[0].runs["capacity"].record
WORKER = WorkerUsage(1, CpuTime(4_000_000, 0), 10.0, queued_s=0.0)


def by(*workers: WorkerUsage, processors: int | None = 2) -> RunRecord:
    return replace(RECORD, workers=workers, supply=Supply(processors=processors))


def by_two(boot_ids: tuple[str | None, str | None], worker: WorkerUsage) -> RunRecord:
    """The record of two generators with a worker each, on machines with one processor for them."""
    record = made_by(RECORD, 2)
    hosts = [
        replace(
            host, workers=(worker,), found=HostFound(boot_id) if boot_id else None,
            supply=Supply(processors=1),
        )
        for host, boot_id in zip(record.hosts, boot_ids, strict=True)
    ]  # fmt: skip
    return replace(record, hosts=tuple(hosts))


def test_workers_on_one_processor_count_together() -> None:
    assert generator_busy(by(WORKER, WORKER)) == pytest.approx(0.8)
    assert generator_busy(by(WORKER, replace(WORKER, processor=0))) == pytest.approx(0.4)


def test_workers_that_are_not_pinned_share_the_processors_if_they_are_more() -> None:
    free = replace(WORKER, processor=None)
    assert generator_busy(by(free, free, free)) == pytest.approx(0.6)
    assert generator_busy(by(free, free)) == pytest.approx(0.4)
    assert generator_busy(by(free, free, free, processors=None)) == pytest.approx(0.4)


def test_time_that_others_had_is_not_left_to_a_worker() -> None:
    assert generator_busy(by(replace(WORKER, queued_s=6.0))) == pytest.approx(1.0)
    # Of the time in which two workers waited, they gave each other all but what others ran.
    two = replace(WORKER, queued_s=3.0, processor_busy=0.8)
    assert generator_busy(by(two, two)) == pytest.approx(0.8)
    beside = replace(two, processor_busy=0.9)
    assert generator_busy(by(beside, beside)) == pytest.approx(0.8 / 0.9)


@pytest.mark.parametrize("processor", [1, None])
def test_processors_of_several_generators_are_those_of_their_machines(
    processor: int | None,
) -> None:
    worker = replace(WORKER, processor=processor)
    assert generator_busy(by_two(("here", "here"), worker)) == pytest.approx(0.8)
    assert generator_busy(by_two(("here", "there"), worker)) == pytest.approx(0.4)
    assert generator_busy(by_two((None, None), worker)) == pytest.approx(0.4)
