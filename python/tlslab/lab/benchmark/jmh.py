"""One trial under JMH: a fork for each mode, with its results read and its raw file kept."""

import json
import math
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlslab.domain.benchmark import MODES, BenchmarkRun, BenchmarkSettings, Iteration, Mode
from tlslab.domain.errors import CannotRunError, StoreError
from tlslab.lab.benchmark.keystores import KeyStore
from tlslab.servers.base import pinned
from tlslab.servers.jdk import PICKED_UP, Jdk
from tlslab.servers.process import ServerProcess

# JMH's short names of its modes.
_BY_SHORT_NAME: Mapping[str, Mode] = {"thrpt": "throughput", "sample": "sample"}

# The names of the numbers of java/'s profiler.
_OPERATIONS, _SECONDS, _CPU, _SIGNERS = (
    f"tlslab.{name}" for name in ("ops", "seconds", "cpu", "signers_cpu")
)

# Operations within an iteration's own time, without those while threads start and end.
_COUNTED = "tlslab.counted_ops"

_LENGTHS = {"ms": 1e-3, "s": 1.0, "min": 60.0}


def read_jmh(text: str, signers: bool) -> dict[Mode, BenchmarkRun]:
    """The runs of a result file with one fork of each mode; `signers`: other processes sign.

    Raises StoreError for a file that is not JMH's or holds no result: JMH leaves out forks that
    have crashed.
    """
    try:
        results = json.loads(text)
        found = {_BY_SHORT_NAME[result["mode"]]: _run(result, signers) for result in results}
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise StoreError(f"not a result of JMH: {type(error).__name__} {error}") from None
    if not found:
        raise StoreError("JMH's result file is empty")
    return found


def _run(result: Mapping[str, Any], signers: bool) -> BenchmarkRun:
    mode = _BY_SHORT_NAME[result["mode"]]
    metric = result["primaryMetric"]
    iterations = _iterations(result["secondaryMetrics"], signers)
    sampled = mode == "sample"
    histogram = metric.get("rawDataHistogram", [[]])[0] if sampled else []
    return BenchmarkRun(
        program=f"JMH {result['jmhVersion']}",
        runtime=f"{result['vmName']} {result['vmVersion']}",
        mode=mode,
        threads=int(result["threads"]),
        arguments=tuple(str(argument) for argument in result["jvmArgs"]),
        warmup_iterations=int(result["warmupIterations"]),
        per_s=_counted_per_s(result)
        if sampled
        else tuple(_numbers(metric["rawData"][0], metric["scoreUnit"], "ops/s")),
        iterations=iterations,
        percentiles_ms=_percentiles(metric) if sampled else None,
        mean_ms=_milliseconds([metric["score"]], metric["scoreUnit"])[0] if sampled else None,
        samples=sum(int(count) for iteration in histogram for _, count in iteration),
    )


def _counted_per_s(result: Mapping[str, Any]) -> tuple[float, ...]:
    """Operations per second of each iteration, for a mode that does not report them itself."""
    length, unit = result["measurementTime"].split()
    seconds = float(length) * _LENGTHS[unit]
    counted = result["secondaryMetrics"][_COUNTED]["rawData"][0]
    return tuple(operations / seconds for operations in counted)


def _iterations(secondary: Mapping[str, Any], signers: bool) -> tuple[Iteration, ...]:
    columns = [secondary[name]["rawData"][0] for name in (_OPERATIONS, _SECONDS, _CPU, _SIGNERS)]
    return tuple(
        Iteration(round(operations), seconds, cpu, signing if signers else None)
        for operations, seconds, cpu, signing in zip(*columns, strict=True)
    )


def _percentiles(metric: Mapping[str, Any]) -> dict[str, float]:
    """Percentiles by their percentage, in milliseconds."""
    found: Mapping[str, Any] = metric["scorePercentiles"]
    values = _milliseconds(list(found.values()), metric["scoreUnit"])
    return {f"{float(name):g}": value for name, value in zip(found, values, strict=True)}


def _milliseconds(values: Sequence[Any], unit: str) -> list[float]:
    return [1000 * value for value in _numbers(values, unit, "s/op")]


def _numbers(values: Sequence[Any], unit: str, expected: str) -> list[float]:
    """A number of JMH's file, where NaN is written as text."""
    numbers = [float(value) for value in values]
    if unit != expected or not numbers or not all(math.isfinite(number) for number in numbers):
        raise StoreError(f"not a result in {expected}: {values!r:.80} {unit}")
    return numbers


JAR_REMEDY = "scripts/build-java.sh builds it (it needs Maven and a JDK)"

# A fork's time outside its iterations: start two virtual machines, open keys, write results.
SLACK_S = 90.0

# Compilers and collector are the JVM's defaults. The heap is fixed: its default depends on the
# machine's memory.
HEAP = ("-Xms256m", "-Xmx1g")

_METHODS = {
    "handshake-tls12": ("tlslab.Handshakes.handshake", "1.2"),
    "handshake-tls13": ("tlslab.Handshakes.handshake", "1.3"),
    "sign": ("tlslab.Signatures.sign", None),
    "draw": ("tlslab.Signatures.draw", None),
}
_SHORT: Mapping[Mode, str] = {"throughput": "thrpt", "sample": "sample"}

# Marks in JMH's output: the reason of a failed fork is in a line with a mark, or in the next lines.
_FAILURES = ("<failure>", "<JMH had finished", "<forked VM failed", "ERROR:", "Error:", "Unable")
_WORDS = 400


class ForkFailedError(CannotRunError):
    """A fork that ended without a result; `class_` is its failure class."""

    def __init__(self, class_: str, message: str) -> None:
        super().__init__(message)
        self.class_ = class_


@dataclass(frozen=True)
class Fork:
    """The work of one trial: a benchmark with a key store on N threads, on a JDK.

    `processors`: those to pin the JVMs to; none: not pinned.
    """

    jdk: Jdk
    jar: Path
    benchmark: str
    keys: KeyStore
    threads: int
    settings_file: Path
    settings: BenchmarkSettings
    processors: tuple[int, ...] = ()


def has_jar() -> bool:
    """Whether the jar with the benchmarks exists."""
    return _jar().is_file()


def _jar() -> Path:
    given = os.environ.get("TLSLAB_BENCHMARKS_JAR")
    source = Path(__file__).resolve().parents[4] / "java" / "target" / "benchmarks.jar"
    return Path(given) if given else source


def find_jar() -> Path:
    """The built jar with the benchmarks. Raises CannotRunError with the remedy.

    `TLSLAB_BENCHMARKS_JAR` names a jar in place of the one in `java/target`.
    """
    jar = _jar()
    if not jar.is_file():
        raise CannotRunError(f"the benchmarks {jar} are missing", JAR_REMEDY)
    return jar


def command(fork: Fork, result: Path) -> list[str]:
    """The command line of one trial."""
    method, tls = _METHODS[fork.benchmark]
    settings = fork.settings
    pids = fork.keys.signers()
    line = [str(fork.jdk.java), "-jar", str(fork.jar), f"^{method.replace('.', '[.]')}$"]
    line += ["-bm", ",".join(_SHORT[mode] for mode in settings.modes), "-tu", "s", "-f", "1"]
    line += ["-wi", str(settings.warmup_iterations), "-w", f"{settings.warmup_ms}ms"]
    line += ["-i", str(settings.iterations), "-r", f"{settings.iteration_ms}ms"]
    line += ["-t", str(fork.threads), "-foe", "true", "-rf", "json", "-rff", str(result)]
    line += ["-prof", "tlslab.Accounting:" + "+".join(map(str, pids))]
    line += ["-jvmArgsAppend", " ".join((*HEAP, f"-Dtlslab.settings={fork.settings_file}"))]
    line += ["-p", f"keys={fork.keys.name}"] if fork.benchmark != "draw" else []
    return line + (["-p", f"tls={tls}"] if tls else [])


def run_fork(fork: Fork, result: Path, log: Path) -> dict[Mode, BenchmarkRun]:
    """Runs a trial; its output goes to the log. Raises ForkFailedError with JMH's message."""
    seconds = fork.settings.seconds + len(fork.settings.modes) * SLACK_S
    code = finish(command(fork, result), fork.keys, log, seconds, fork.processors)
    words = log.read_text("utf-8", "replace")
    if code is None:
        raise ForkFailedError("benchmark_hangs", f"it did not end within {seconds:.0f} s")
    try:
        runs = read_jmh(result.read_text("utf-8"), fork.keys.cluster is not None)
    except (OSError, StoreError):
        runs = {}
    missing = [mode for mode in fork.settings.modes if mode not in runs]
    if code != 0 or missing:
        raise ForkFailedError("benchmark_failed", failure_words(words) or f"it ended with {code}")
    return {mode: runs[mode] for mode in MODES if mode in runs}


def finish(
    line: Sequence[str], keys: KeyStore, log: Path, seconds: float, processors: Sequence[int] = ()
) -> int | None:
    """Runs a JVM, with all processes it starts, to its end, on these processors (none: on all).

    Returns the exit code, None for a timeout.
    """
    process = ServerProcess(guarded(line, keys, processors), log)
    try:
        return _wait(process.popen, seconds)
    finally:
        process.stop()


def guarded(line: Sequence[str], keys: KeyStore, processors: Sequence[int] = ()) -> list[str]:
    """A JVM's command line that ends with the lab, in an environment without options."""
    unset = [part for name in PICKED_UP for part in ("-u", name)]
    assigned = [f"{name}={value}" for name, value in keys.environment.items()]
    return pinned(["env", *unset, *assigned, *line], processors, "TERM")


def _wait(popen: "subprocess.Popen[bytes]", seconds: float) -> int | None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            return popen.wait(min(1.0, max(0.01, deadline - time.monotonic())))
        except subprocess.TimeoutExpired:
            continue
    return None


def failure_words(output: str) -> str:
    """The reason of a failure, from JMH or from a virtual machine's start, on one line."""
    lines = [line.strip() for line in output.splitlines()]
    at = next((i for i, line in enumerate(lines) if any(mark in line for mark in _FAILURES)), None)
    if at is None:
        return " ".join(lines[-3:])[-_WORDS:].strip()
    # The other lines are parts of a stack trace, or marks.
    reported = [
        line
        for line in lines[at:]
        if line and not line.startswith(("at ", "... ", "# ")) and "<failure>" not in line
    ]
    return " ".join(reported)[:_WORDS]
