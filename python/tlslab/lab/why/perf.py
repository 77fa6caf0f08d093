"""perf as the lab's sampler of the call stacks of running processes."""

import contextlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlslab.domain.errors import CannotRunError
from tlslab.lab.why.callees import Program
from tlslab.servers.base import pinned

KERNEL = "kernel"
UNKNOWN = "?"

# The function that the call before a file offset calls; empty if unknown.
Callee = Callable[[str, int], str]

_FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")
_LOST = re.compile(r"PERF_RECORD_LOST\S* lost (\d+)")

# Suffixes that compilers add to the name of a part of a function, or of a copy of it.
_COPY = re.compile(r"(\.(constprop|isra|part|cold|llvm)(\.\d+)*)+$|@@?[A-Z][\w.]*$|@plt$")
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")


@dataclass(frozen=True)
class Folded:
    """Stacks with their numbers of samples, and the number of lost samples."""

    text: str
    samples: int
    lost: int


def fold(script: Iterable[str], callee: Callee = lambda path, place: "") -> Folded:
    """The stacks of the lines of `perf script -F comm,ip,sym,dso --show-lost-events`.

    The lines are read once, and only those of one sample are held at a time. An unnamed frame gets
    the name of the function that its caller calls, if `callee` knows it.
    """
    counted: Counter[str] = Counter()
    lost = 0
    for record in _records(script):
        lost += sum(int(each[1]) for line in record for each in _LOST.finditer(line))
        if stack := _stack(record, callee):
            counted[stack] += 1
    lines = [f"{stack} {number}" for stack, number in sorted(counted.items())]
    return Folded("\n".join(lines), sum(counted.values()), lost)


def _records(lines: Iterable[str]) -> Iterator[list[str]]:
    """Groups of lines, separated by empty lines, without line ends."""
    record: list[str] = []
    for line in lines:
        if line.strip():
            record.append(line.rstrip("\n"))
        elif record:
            yield record
            record = []
    if record:
        yield record


def _stack(lines: Sequence[str], callee: Callee) -> str:
    """One sample's stack, the outermost frame first; empty for a record that is no sample."""
    heads = [line for line in lines if line and not line[0].isspace()]
    heads = [line for line in heads if "PERF_RECORD_LOST" not in line]
    whole = [line.replace(" (deleted))", ")") for line in lines]
    found = [match for line in whole if (match := _FRAME.match(line))]
    if not heads or not found:
        return ""
    names = [_symbol(each[2]) for each in found]
    for number, caller in enumerate(found[1:]):
        if names[number] == UNKNOWN and not caller[3].startswith("["):
            names[number] = _symbol(callee(caller[3], int(caller[1], 16)) or "[unknown]")
    frames = [f"{_library(each[3])}`{name}" for each, name in zip(found, names, strict=True)]
    process = heads[0].strip().replace(";", ",")
    return ";".join([process, *_without_repeats(reversed(frames))])


def _without_repeats(frames: Iterator[str]) -> Iterator[str]:
    """The frames, with runs of unknown frames of one library joined into one."""
    last = ""
    for frame in frames:
        if frame != last or not frame.endswith(f"`{UNKNOWN}"):
            yield frame
        last = frame


def _library(path: str) -> str:
    """The file's name; `kernel` for the kernel and its modules."""
    if path.startswith("["):
        inside = path.strip("[]")
        if inside in ("vdso", "unknown"):
            return inside if inside == "vdso" else UNKNOWN
        return KERNEL
    name = path.rsplit("/", 1)[-1]
    return re.sub(r"[;`\s]", "_", name) or UNKNOWN


def _symbol(text: str) -> str:
    if text == "[unknown]":
        return UNKNOWN
    name = _RUST_HASH.sub("", _COPY.sub("", text))
    return re.sub(r"[;`]", ",", name)


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
