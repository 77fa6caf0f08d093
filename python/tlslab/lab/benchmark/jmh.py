"""One trial under JMH: a fork for each mode, with its results read and its raw file kept."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlslab.domain.benchmark import MODES, BenchmarkRun, BenchmarkSettings, Mode
from tlslab.domain.errors import CannotRunError, StoreError
from tlslab.lab.benchmark.keystores import KeyStore
from tlslab.lab.store.jmh import read_jmh
from tlslab.servers.guard import bound
from tlslab.servers.jdk import PICKED_UP, Jdk
from tlslab.servers.process import ServerProcess

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
    """The work of one trial: a benchmark with a key store on N threads, on a JDK."""

    jdk: Jdk
    jar: Path
    benchmark: str
    keys: KeyStore
    threads: int
    settings_file: Path
    settings: BenchmarkSettings


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
    code = finish(command(fork, result), fork.keys, log, seconds)
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


def finish(line: Sequence[str], keys: KeyStore, log: Path, seconds: float) -> int | None:
    """Runs a JVM, with all processes it starts, to its end.

    Returns the exit code, None for a timeout.
    """
    process = ServerProcess(guarded(line, keys), log)
    try:
        return _wait(process.popen, seconds)
    finally:
        process.stop()


def guarded(line: Sequence[str], keys: KeyStore) -> list[str]:
    """A JVM's command line that ends with the lab, in an environment without options."""
    unset = [part for name in PICKED_UP for part in ("-u", name)]
    assigned = [f"{name}={value}" for name, value in keys.environment.items()]
    return [*bound("TERM"), "env", *unset, *assigned, *line]


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
    reported = [line for line in lines[at:] if _reports(line)]
    return " ".join(reported)[:_WORDS]


def _reports(line: str) -> bool:
    """Whether a line has a message: it is neither part of a stack trace nor a mark."""
    return bool(line) and not line.startswith(("at ", "... ", "# ")) and "<failure>" not in line
