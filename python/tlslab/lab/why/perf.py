"""perf as the lab's sampler of the call stacks of running processes."""

import contextlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from tlslab.domain.errors import CannotRunError
from tlslab.lab.why.callees import Program
from tlslab.lab.why.folding import Callee, Folded, fold
from tlslab.servers.base import pinned

# A prime number of samples per second, out of step with anything periodic. Two seconds of a busy
# processor give 3,000 samples: a part of 10 % is known to 1.1 %.
HERTZ = 1499

# Each sample has 16 KiB, so that the data grow with the number of busy processors: servers on more
# than two processors share the samples of two. The rate never falls below the minimum (also a
# prime), because some processors may be idle.
_SHARED = 2
_LEAST_HERTZ = 97

# Bytes of the stack that each sample copies for unwinding; OpenSSL's big numbers and aws-lc's
# tables of points lie on the stack.
STACK_BYTES = 16384

# When it ends, perf reads all its samples once more; unwinding follows.
_END_S = 30
_SCRIPT_S = 300
_TRY_S = 20

NOT_INSTALLED = "perf is not installed: apt-get install linux-perf"
FORBIDDEN = "perf may not sample here: run as root, or `sysctl kernel.perf_event_paranoid=1`"


_RIGHTS = re.compile(
    r"permi(ssion|tted)|perf_event_paranoid|performance monitoring .* limited|CAP_PERFMON",
    re.IGNORECASE,
)
_OWN_PROCESSES = 2  # Up to this perf_event_paranoid, all users may sample their own programs.
_MOST_WORDS = 200


def hertz_of(processors: int) -> int:
    """Samples per second of processor time, for a server on N processors."""
    return max(_LEAST_HERTZ, HERTZ * _SHARED // max(_SHARED, processors))


def why_not() -> str:
    """The reason that perf cannot sample on this machine; empty if it can."""
    program = shutil.which("perf")
    if program is None:
        return NOT_INSTALLED
    command = [program, "record", "-q", "-e", "cpu-clock:u", "-o", "/dev/null", "--", "true"]
    try:
        tried = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TRY_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"perf does not start: {error}"
    if tried.returncode == 0:
        return ""
    said = _one_line(tried.stderr) or f"exit code {tried.returncode}, without a word"
    forbidden = _RIGHTS.search(said) or (not _is_root() and _paranoid() > _OWN_PROCESSES)
    return f"{FORBIDDEN if forbidden else 'perf does not work here'} (perf: {said})"


def _one_line(text: str) -> str:
    """The start of perf's message, without unprintable characters."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words if len(words) <= _MOST_WORDS else f"{words[: _MOST_WORDS - 1]}…"


def _paranoid() -> int:
    """The kernel's setting perf_event_paranoid; if absent, a value that allows everything."""
    try:
        return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    except (OSError, ValueError):
        return -1


def samples_kernel() -> bool:
    """Whether this user may sample the kernel and see its symbols."""
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

    def __init__(
        self, data: Path, processors: Sequence[int], kernel: bool, hertz: int = HERTZ
    ) -> None:
        self._data = data
        self._hertz = hertz
        self._processors = processors
        self._event = "cpu-clock" if kernel else "cpu-clock:u"
        self._child: subprocess.Popen[str] | None = None
        self._stopped = False

    def start(self, pids: Sequence[int]) -> None:
        """Starts perf on all threads of the processes and of their children."""
        command = [
            "perf", "record", "-q", "-e", self._event, "-F", str(self._hertz),
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
        """Sends perf the signal to end; does not wait for the end."""
        if self._child is not None and not self._stopped:
            self._stopped = True
            self._child.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Waits until perf has written its file; does nothing without a start."""
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
        # perf ends itself by the signal after completing its file.
        if child.returncode not in (0, -signal.SIGINT, 128 + signal.SIGINT):
            raise CannotRunError(f"perf: {_one_line(errors)}")

    def folded(self) -> Folded:
        """The stacks of all samples."""
        command = [
            "perf", "script", "-i", str(self._data), "--no-inline", "--show-lost-events",
            "-F", "comm,ip,sym,dso",
        ]  # fmt: skip
        with (
            tempfile.TemporaryFile("w+", errors="replace") as errors,
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
            ) as child,
        ):
            assert child.stdout is not None  # A pipe was requested.
            late = threading.Event()

            def end() -> None:
                late.set()
                child.kill()

            limit = threading.Timer(_SCRIPT_S, end)
            limit.start()
            try:
                folded = fold(child.stdout, _callee())
                code = child.wait()
            finally:
                limit.cancel()
                child.kill()
            errors.seek(0)
            said = errors.read()
        if late.is_set():
            raise CannotRunError(f"perf did not unwind its samples in {_SCRIPT_S} s")
        if code != 0:
            raise CannotRunError(f"perf script: {_one_line(said)}")
        return folded


def _callee() -> Callee:
    """Reads each program once. perf gives callers as the byte before the return address."""
    programs: dict[str, Program] = {}

    def called(path: str, place: int) -> str:
        if path not in programs:
            programs[path] = Program(Path(path))
        return programs[path].called_before(place + 1)

    return called
