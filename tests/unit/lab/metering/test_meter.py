"""Accounting of processor time: the time that is read is the time that was used."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from tlslab.cli.load_run import machine_of
from tlslab.domain.errors import EngineError
from tlslab.lab.metering.meter import Meter
from tlslab.lab.metering.processes import ProcessReading, read_process, used


@pytest.fixture
def burner() -> Iterator[subprocess.Popen[bytes]]:
    """A process that burns one processor, mostly in user space."""
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield child
    child.kill()
    child.wait()


def test_run_time_in_nanoseconds_is_shared_out_by_ticks() -> None:
    start = ProcessReading(100_000, 50_000, {"7": 5_000_000})
    end = ProcessReading(160_000, 70_000, {"7": 86_000_000})
    assert used(start, end) == (60_750, 20_250)


def test_the_time_of_a_thread_that_began_later_counts_in_full() -> None:
    start = ProcessReading(0, 0, {"7": 1_000_000})
    end = ProcessReading(20_000, 0, {"7": 11_000_000, "8": 9_000_000})
    assert used(start, end) == (19_000, 0)


def test_ticks_count_where_threads_have_ended_or_report_nothing() -> None:
    start = ProcessReading(0, 0, {"7": 0, "8": 900_000_000})
    assert used(start, ProcessReading(800_000, 200_000, {"7": 10_000})) == (800_000, 200_000)
    assert used(start, ProcessReading(800_000, 200_000, {})) == (800_000, 200_000)


def test_a_process_that_is_gone_reads_as_none() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert read_process(child.pid) is None


def test_ended_children_count_with_their_parent() -> None:
    command = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(20000000))'])"
    )
    code = f"{command}; print('done', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin
        assert child.stdout
        child.stdout.readline()
        reading = read_process(child.pid)
        assert reading is not None
        own = psutil.Process(child.pid).cpu_times()
        assert reading.user_us >= own.children_user * 1e6 > 0
        child.stdin.close()


def test_a_busy_process_is_accounted_within_its_own_clock(burner: subprocess.Popen[bytes]) -> None:
    """Compared with the kernel's clock of the process: an independent reading of the same time."""
    clock = time.clock_gettime_ns
    clock_id = (~burner.pid << 3) | 2  # CPUCLOCK_SCHED of a process (clock_getcpuclockid(3))
    meter = Meter([psutil.Process(burner.pid)])
    before = clock(clock_id)
    meter.start()
    # Far longer than this process may wait for a processor between the two clocks.
    time.sleep(2)
    meter.end()
    after = clock(clock_id)
    usage = meter.server(handshakes=3)
    assert usage is not None
    assert meter.complete
    assert usage.user_us + usage.system_us <= (after - before) / 1000
    assert usage.user_us + usage.system_us >= 0.8 * (after - before) / 1000
    assert usage.user_us > usage.system_us
    assert (usage.memory_bytes or 0) > 1_000_000
    assert (usage.processes, usage.handshakes) == (1, 3)
    used_so_far = [sample.user_us + sample.system_us for sample in usage.samples]
    assert used_so_far == sorted(used_so_far)
    assert len(used_so_far) >= 2


def test_the_machine_adds_up(burner: subprocess.Popen[bytes]) -> None:
    meter = Meter([])
    meter.start()
    time.sleep(0.5)
    meter.end()
    machine = meter.machine()
    assert meter.server(None) is None
    assert len(machine.per_processor) == os.cpu_count()
    assert all(0 <= each.busy <= 1 for each in machine.per_processor)
    assert machine.user_us > 0


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Meter:
    """A meter of a measurement at the end of which the machine has one processor less."""
    found = psutil.cpu_times(percpu=True)
    meter = Meter([])
    # The meter's thread reads as well.
    monkeypatch.setattr(psutil, "cpu_times", lambda percpu: [*found, found[0]])
    meter.start()
    monkeypatch.setattr(psutil, "cpu_times", lambda percpu: found)
    meter.end()
    return meter


def test_processors_that_go_offline_fail_the_run(changed: Meter) -> None:
    number = len(psutil.cpu_times(percpu=True))
    with pytest.raises(EngineError) as caught:
        changed.machine()
    assert caught.value.class_ == "processors_changed"
    assert caught.value.message.endswith(f"it had {number} and {number + 1}")
    assert changed.processors() == ()


def test_a_load_warns_of_a_machine_whose_processors_changed(
    changed: Meter, capsys: pytest.CaptureFixture[str]
) -> None:
    assert machine_of(changed) is None
    assert "warning: processors of this machine went on or off" in capsys.readouterr().err


def test_a_meter_that_never_began_is_not_complete() -> None:
    meter = Meter([])
    meter.end()
    meter.close()
    assert not meter.complete


def test_a_meter_whose_end_was_not_reported_is_not_complete() -> None:
    meter = Meter([])
    meter.start()
    time.sleep(0.3)
    meter.close()
    assert not meter.complete


def test_the_last_second_of_a_process_tree_is_known_while_it_runs(
    burner: subprocess.Popen[bytes],
) -> None:
    meter = Meter([psutil.Process(burner.pid)])
    assert meter.server_processors() is None
    meter.start()
    try:
        deadline = time.monotonic() + 30
        while not (busy := meter.server_processors()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        meter.close()
    # One thread cannot use more than one processor.
    assert 0 < busy < 1.2


def test_a_server_elsewhere_has_no_processors_here() -> None:
    meter = Meter([])
    meter.start()
    meter.end()
    assert meter.server_processors() is None
