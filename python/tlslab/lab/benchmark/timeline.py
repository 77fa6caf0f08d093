"""A load through the cluster with a fault injected into one of its nodes."""

import json
import selectors
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tlslab.domain.benchmark import FaultEvent, Faults, Slice, Timeline
from tlslab.domain.codec import from_json
from tlslab.domain.wording import percent
from tlslab.lab.benchmark.jmh import HEAP, Fork, ForkFailedError, guarded
from tlslab.lab.benchmark.keystores import Material
from tlslab.servers.process import ServerProcess
from tlslab.servers.signer import SigningNode

SLICE_MS = 1000

# A slow node's share of processor time: the node answers, but late.
SLOW_SHARE = 0.2

# The policy `eject` in the client's settings (java/, `Cluster`).
EJECT = {
    "cluster.retries": "1",
    "cluster.ejection.failures": "1",
    "cluster.ejection.ms": "5000",
}

WARMUP_MS = 3000
_START_S = 60.0
_WORDS = 400


@dataclass(frozen=True)
class _Step:
    """An action at a time of the load, with its description."""

    at_s: float
    do: Callable[[], None]
    words: str


def run_timeline(
    fork: Fork, material: Material, faults: Faults, fault: str, policy: str
) -> Timeline:
    """Runs the load through the fork's cluster, with `fault` at the first node.

    Raises ForkFailedError.
    """
    cluster = fork.keys.cluster
    assert cluster is not None  # Only keys on a cluster have such loads.
    more = {**fork.keys.settings, **(EJECT if policy == "eject" else {})}
    prepared = replace(fork, settings_file=material.write_settings("timeline", more))
    steps = _steps(cluster.nodes[0], faults, fault)
    slices, events = _load(prepared, faults, steps, material.folder / "timeline.log")
    return Timeline(
        runtime=fork.jdk.label,
        benchmark=fork.benchmark,
        threads=fork.threads,
        fault=fault,
        policy=policy,
        slices=tuple(slices),
        events=tuple(events),
    )


def _steps(node: SigningNode, faults: Faults, fault: str) -> list[_Step]:
    """The actions on the first node, in chronological order."""
    start, end = faults.at_s, faults.until_s
    restored = _Step(end, node.restore, f"node {node.name} runs again")
    if fault == "slow":
        words = f"node {node.name} has {percent(SLOW_SHARE)} of its time"
        return [_Step(start, lambda: node.slow(SLOW_SHARE), words), restored]
    if fault == "frozen":
        return [_Step(start, lambda: node.slow(0), f"node {node.name} stands still"), restored]
    if fault == "killed":
        return [_Step(start, node.kill, f"node {node.name} is killed")]
    return []


def command(fork: Fork, faults: Faults) -> list[str]:
    """The command line of the load."""
    return [
        str(fork.jdk.java), *HEAP, f"-Dtlslab.settings={fork.settings_file}",
        f"-Dtlslab.warmup_ms={WARMUP_MS}", "-cp", str(fork.jar), "tlslab.timeline.Timeline",
        fork.benchmark, fork.keys.name, str(fork.threads), f"{faults.seconds:g}", str(SLICE_MS),
    ]  # fmt: skip


def _load(
    fork: Fork, faults: Faults, steps: list[_Step], log: Path
) -> tuple[list[Slice], list[FaultEvent]]:
    process = ServerProcess(guarded(command(fork, faults), fork.keys), log, capture=True)
    slices: list[Slice] = []
    events: list[FaultEvent] = []
    begun: float | None = None
    try:
        for reported in _lines(process.popen, faults.seconds + WARMUP_MS / 1000 + _START_S):
            if reported is None:
                pass
            elif reported.get("event") == "begun":
                begun = time.monotonic()
            else:
                slices.append(from_json(reported, Slice))
            while begun is not None and steps and time.monotonic() - begun >= steps[0].at_s:
                step = steps.pop(0)
                step.do()
                events.append(FaultEvent(time.monotonic() - begun, step.words))
        code = process.popen.wait()
    finally:
        process.stop()
    if code != 0 or not slices:
        words = process.last_words()[-_WORDS:] or f"it ended with {code}"
        raise ForkFailedError("benchmark_failed", words)
    return slices, events


def _lines(popen: "subprocess.Popen[bytes]", seconds: float) -> Iterator[Mapping[str, Any] | None]:
    """The load's lines of JSON as they arrive, and None every 20 ms, until its output ends."""
    assert popen.stdout is not None
    deadline = time.monotonic() + seconds
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(popen.stdout, selectors.EVENT_READ)
        while time.monotonic() < deadline:
            if not selector.select(0.02):
                yield None
                continue
            chunk = popen.stdout.read1(1 << 16)  # type: ignore[attr-defined]
            if not chunk:
                return
            *whole, pending = (pending + chunk).split(b"\n")
            for line in whole:
                yield json.loads(line)
    raise ForkFailedError("benchmark_hangs", f"it did not end within {seconds:.0f} s")
