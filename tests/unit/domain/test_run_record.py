"""How busy generators were: the engine's share, or that of the busiest worker in old records."""

from dataclasses import replace

import pytest

from factories.run import made_run
from tlslab.contract.record import CpuTime, WorkerUsage
from tlslab.domain.run_record import generator_busy

RECORD = made_run(quick=True).trials[0].runs["capacity"].record
WORKER = WorkerUsage(CpuTime(4_000_000, 0), 10.0, processor=1)


def test_the_engine_says_how_busy_its_workers_were() -> None:
    assert generator_busy(replace(RECORD, busy=0.8, workers=(WORKER, WORKER))) == 0.8


def test_old_records_have_the_processor_time_of_the_busiest_worker() -> None:
    other = replace(WORKER, cpu=CpuTime(1_000_000, 0))
    unused = replace(WORKER, seconds=0.0)
    assert generator_busy(replace(RECORD, workers=(other, WORKER, unused))) == pytest.approx(0.4)
    assert generator_busy(replace(RECORD, workers=())) == 0.0
