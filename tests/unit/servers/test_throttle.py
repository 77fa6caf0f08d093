"""A throttled process stops, and runs again."""

import subprocess
import time
from collections.abc import Iterator

import psutil
import pytest

from tlslab.servers.signer import Throttle


@pytest.fixture
def process() -> Iterator[psutil.Process]:
    with subprocess.Popen(["sleep", "60"]) as popen:
        yield psutil.Process(popen.pid)
        popen.kill()


def _becomes(process: psutil.Process, stopped: bool) -> bool:
    """Whether the process stops, or runs, within ten seconds."""
    for _ in range(1000):
        if (process.status() == psutil.STATUS_STOPPED) == stopped:
            return True
        time.sleep(0.01)
    return False


def test_a_frozen_process_stands_still_until_the_end(process: psutil.Process) -> None:
    throttle = Throttle(process.pid)
    throttle.start(0)
    assert _becomes(process, stopped=True)
    throttle.end()
    assert _becomes(process, stopped=False)


def test_a_slow_process_does_both_by_turns(process: psutil.Process) -> None:
    throttle = Throttle(process.pid)
    throttle.start(0.5)
    assert _becomes(process, stopped=True)
    assert _becomes(process, stopped=False)
    assert _becomes(process, stopped=True)
    throttle.end()
    assert _becomes(process, stopped=False)


def test_a_process_that_has_ended_does_no_harm(process: psutil.Process) -> None:
    throttle = Throttle(process.pid)
    throttle.start(0.5)
    process.kill()
    process.wait()
    throttle.end()
    throttle.end()
