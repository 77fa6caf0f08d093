"""perf, as the lab calls it: samples of the call stacks of running processes."""

import contextlib
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tlslab.lab.why.callees import Program
from tlslab.lab.why.folding import Callee, Folded, fold
from tlslab.model.errors import CannotRunError
from tlslab.targets.base import pinned

# A prime number of samples a second: no step with anything periodic. Two seconds of a busy
# processor give 3,000 samples: a part of 10 % is known to 1.1 %.
HERTZ = 1499

# Bytes of the stack that each sample copies for unwinding; OpenSSL's big numbers and aws-lc's
# tables of points lie on the stack.
STACK_BYTES = 16384

# perf reads all its samples once more when it ends, and unwinds them afterwards.
_END_S = 30
_SCRIPT_S = 300
_TRY_S = 20

NOT_INSTALLED = "perf is not installed: apt-get install linux-perf"
FORBIDDEN = "perf may not sample here: run as root, or `sysctl kernel.perf_event_paranoid=1`"


def why_not() -> str:
    """Why perf cannot sample on this machine; empty where it can."""
    program = shutil.which("perf")
    if program is None:
        return NOT_INSTALLED
    command = [program, "record", "-q", "-e", "cpu-clock:u", "-o", "/dev/null", "--", "true"]
    try:
        tried = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRY_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"perf does not start: {error}"
    return "" if tried.returncode == 0 else FORBIDDEN


def samples_kernel() -> bool:
    """Whether this user may sample the kernel, and see the names in it."""
    try:
        allowed = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) <= 1
        with Path("/proc/kallsyms").open() as names:
            named = int(names.readline().split()[0], 16) != 0
    except (OSError, ValueError, IndexError):
        return False
    return named and (allowed or _is_root())


def _is_root() -> bool:
    with contextlib.suppress(OSError, ValueError):
        status = Path("/proc/self/status").read_text()
        caps = next(line for line in status.splitlines() if line.startswith("CapEff:"))
        return bool(int(caps.split()[1], 16) & (1 << 38 | 1 << 21))  # CAP_PERFMON, CAP_SYS_ADMIN
    return False


class Recorder:
    """Samples processes into a file from `start` to `end`; all errors are CannotRunError."""

    def __init__(self, data: Path, processors: Sequence[int], kernel: bool) -> None:
        self._data = data
        self._processors = processors
        self._event = "cpu-clock" if kernel else "cpu-clock:u"
        self._child: subprocess.Popen[str] | None = None
        self._stopped = False

    def start(self, pids: Sequence[int]) -> None:
        """Starts perf on all threads of the processes, and of those that they start."""
        command = [
            "perf", "record", "-q", "-e", self._event, "-F", str(HERTZ),
            "--call-graph", f"dwarf,{STACK_BYTES}", "--no-buildid", "--no-buildid-cache",
            "-p", ",".join(map(str, pids)), "-o", str(self._data),
        ]  # fmt: skip
        try:
            self._child = subprocess.Popen(
                pinned(command, self._processors, "INT"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotRunError(f"perf does not start: {error}") from None

    def stop(self) -> None:
        """Tells perf to end, and does not wait for that."""
        if self._child is not None and not self._stopped:
            self._stopped = True
            self._child.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Waits until perf has written its file; without a start it does nothing."""
        self.stop()
        child, self._child = self._child, None
        if child is None:
            return
        try:
            _, errors = child.communicate(timeout=_END_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            raise CannotRunError(f"perf did not end within {_END_S} s") from None
        # perf ends itself by the signal once its file is whole.
        if child.returncode not in (0, -signal.SIGINT, 128 + signal.SIGINT):
            raise CannotRunError(f"perf: {' '.join(errors.split())[-300:]}")

    def folded(self) -> Folded:
        """The stacks of all samples."""
        command = [
            "perf", "script", "-i", str(self._data), "--no-inline", "--show-lost-events",
            "-F", "comm,ip,sym,dso",
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SCRIPT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CannotRunError(f"perf did not unwind its samples in {_SCRIPT_S} s") from None
        if done.returncode != 0:
            raise CannotRunError(f"perf script: {' '.join(done.stderr.split())[-300:]}")
        return fold(done.stdout, _callee())


def _callee() -> Callee:
    """Reads each program once. perf gives callers as the byte before the return address."""
    programs: dict[str, Program] = {}

    def called(path: str, place: int) -> str:
        if path not in programs:
            programs[path] = Program(Path(path))
        return programs[path].called_before(place + 1)

    return called
