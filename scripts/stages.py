"""The stages of the tests: their rows in tests/stages.toml, and how one of them is run.

Needs only the standard library.
"""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "tests" / "stages.toml"
PYTEST = (str(ROOT / ".venv" / "bin" / "python"), "-m", "pytest")

# The most failed tests of a stage that run once more: more were not disturbed, they are broken.
MOST_AGAIN = 8
# The niceness of what runs beside a stage: a measurement that waits for processors is not valid.
LOWER = 19
# How long a stage that is interrupted may take to end what it has started.
ENDS_WITHIN_S = 20

# Names the file with the seconds of all steps, whose owner adds those of stages itself.
STAGES = "TLSLAB_STAGES"

# A closing line of pytest, of a test program of cargo's, of a script of ours.
_CLOSING = (
    re.compile(r"^=*\s*(?P<counts>\d+ (?:passed|failed|skipped|error).*) in [\d.]+s\b.*$"),
    re.compile(r"^test result: \w+\. (?P<counts>.*?); \d+ filtered out"),
    re.compile(r"^(?P<counts>\d+ passed, \d+ failed(?:, \d+ skipped)?)$"),
)
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|ignored|errors?)\b")
_SAME = {"ignored": "skipped", "error": "failed", "errors": "failed"}


@dataclass(frozen=True)
class Stage:
    """Tests that run at once: a row of tests/stages.toml.

    `pytest` has the options of pytest, or `run` is a line of shell. `parallel`: by N workers
    more than there are processors; None for one test after the other. `again`: up to MOST_AGAIN
    failed tests run once more. `beside`: stages that may run meanwhile, at a lower priority.
    Without `tests` a stage only builds. `always`: a stage of `make test`. Of the others `paths`
    (patterns; a star stands for folders, too) are the files whose change makes `.ci/run` run the
    stage, besides its own test files, and `seconds` is what it takes at least.
    """

    name: str
    title: str
    pytest: str = ""
    run: str = ""
    parallel: int | None = None
    again: bool = False
    beside: tuple[str, ...] = ()
    tests: bool = True
    always: bool = False
    paths: tuple[str, ...] = ()
    seconds: int = 0

    def has_place_for(self, file: str) -> bool:
        """Whether pytest looks into this test file."""
        return any(file == path or file.startswith(f"{path}/") for path in self.pytest.split())

    def touched_by(self, files: Iterable[str]) -> bool:
        """Whether one of these files is among those that the stage tests, or its own."""
        own = [path for path in self.pytest.split() if path.endswith(".py")]
        return touched(files, (*self.paths, *own))


@dataclass
class Counts:
    """How many tests ended how."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def line(self, name: str) -> str:
        """In the form of a runner's closing line."""
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{name}: {self.passed} passed, {self.failed} failed{skipped}"


@dataclass
class Ended:
    """A stage that has ended: its exit code, None if it was ended at its time limit."""

    stage: Stage
    code: int | None
    seconds: int
    counts: Counts
    second_attempt: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        """The counts, as a runner's closing line; empty for a stage without tests."""
        return self.counts.line(self.stage.name) if self.stage.tests else ""

    @property
    def good(self) -> bool:
        """Whether there were tests, and none failed. Those that lack what they need are skipped."""
        ran = self.counts.passed + self.counts.skipped > 0 or not self.stage.tests
        return self.code == 0 and ran and not self.counts.failed

    @property
    def cut(self) -> bool:
        """Whether the stage was ended at its time limit, and no test had failed until then."""
        return self.code is None and not self.counts.failed


def touched(files: Iterable[str], patterns: Sequence[str]) -> bool:
    """Whether a pattern fits one of the files."""
    return any(fnmatch(file, pattern) for file in files for pattern in patterns)


def rows(path: Path = ROWS) -> dict[str, Stage]:
    """The stages by name, in the order in which they run."""
    table = tomllib.loads(path.read_text("utf-8"))
    return {name: _stage(name, row) for name, row in table.items()}


def _stage(name: str, row: dict[str, Any]) -> Stage:
    lists: dict[str, Any] = {key: tuple(row.get(key, ())) for key in ("beside", "paths")}
    return Stage(name, **{**row, **lists})


def counted(output: str) -> Counts:
    """The tests that the closing lines of an output name, added up."""
    counts = Counts()
    for line in output.splitlines():
        if found := next(filter(None, (pattern.match(line) for pattern in _CLOSING)), None):
            for number, kind in _COUNT.findall(found["counts"]):
                kind = _SAME.get(kind, kind)
                setattr(counts, kind, getattr(counts, kind) + int(number))
    return counts


class Runner:
    """Runs stages in a folder. `records` gets a line for each test that shows a capability."""

    def __init__(self, records: Path, folder: Path = ROOT, pytest: Sequence[str] = PYTEST) -> None:
        self.records = records
        self.folder = folder
        self.pytest = pytest
        self._over = threading.Event()
        # What was not shown because another stage was.
        self._held: list[str] = []

    def run(
        self, stages: Sequence[Stage], beside: Sequence[Stage] = (), until: float | None = None
    ) -> list[Ended]:
        """Runs stages one after the other, and others beside them, at a lower priority.

        `until` is a time of time.monotonic(). The output of the others is shown once the stages
        have ended. Failed tests run once more when nothing runs beside them.
        """
        others: list[Ended] = []
        shown, alone = threading.Event(), threading.Event()
        shown.set()

        def aside() -> None:
            for each in beside:
                if not self._over.is_set():
                    others.append(self._attempt(each, f"{cache}/{each.name}", until, alone, LOWER))

        with tempfile.TemporaryDirectory() as cache:
            thread = threading.Thread(target=aside)
            thread.start()
            ended = []
            try:
                for stage in stages:
                    say(f"\n== {stage.title}" + "".join(f"; beside: {o.title}" for o in beside))
                    ended.append(self._attempt(stage, f"{cache}/{stage.name}", until, shown))
                self._release()
            except BaseException:
                self._over.set()
                raise
            finally:
                alone.set()
                thread.join()
                self._release()
            for each in ended:
                if failed := _to_run_again(each, f"{cache}/{each.stage.name}"):
                    self._once_more(each, failed, f"{cache}/{each.stage.name}", until, shown)
        if len(others) < len(beside):
            raise RuntimeError(
                f"a stage of {[each.name for each in beside]} was not run to its end"
            )
        for each in (*ended, *others):
            say(f"== {each.seconds} s: {each.stage.title}; {each.line}")
        return [*ended, *others]

    def _release(self) -> None:
        while self._held:
            say(self._held.pop(0))

    def _attempt(
        self, stage: Stage, cache: str, until: float | None, shown: threading.Event, nice: int = 0
    ) -> Ended:
        began = time.monotonic()
        command = ["nice", "-n", str(nice), *self._command(stage, cache)]
        if stage.parallel is not None:
            workers = len(os.sched_getaffinity(0)) + stage.parallel
            command += ["-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder"]
        code, output = self._carry_out(command, until, shown)
        return Ended(stage, code, round(time.monotonic() - began), counted(output))

    def _once_more(
        self,
        ended: Ended,
        failed: list[str],
        cache: str,
        until: float | None,
        shown: threading.Event,
    ) -> None:
        """Runs the failed tests of a stage one after the other; only this outcome counts."""
        began = time.monotonic()
        say("\n== once more, one after the other:\n" + "\n".join(failed))
        command = [*self._command(ended.stage, cache), "--last-failed", "--lfnf", "none"]
        ended.code, output = self._carry_out(command, until, shown)
        again = counted(output)
        ended.seconds += round(time.monotonic() - began)
        ended.counts.passed += again.passed
        # What was not run again to its end has failed.
        ended.counts.failed = max(again.failed, len(failed) - again.passed - again.skipped)
        if ended.code == 0:
            ended.second_attempt = failed

    def _command(self, stage: Stage, cache: str) -> list[str]:
        if stage.run:
            return ["bash", "-euo", "pipefail", "-c", stage.run]
        own = ["-q", "--stage", stage.name, "--records", str(self.records)]
        return [*self.pytest, *own, "-o", f"cache_dir={cache}", *stage.pytest.split()]

    def _carry_out(
        self, command: Sequence[str], until: float | None, shown: threading.Event
    ) -> tuple[int | None, str]:
        """Runs a command; returns its exit code (None if it was ended here), and its output.

        The output is shown as soon as `shown` is set.
        """
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env={name: value for name, value in os.environ.items() if name != STAGES},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            output = _Output(process, shown)
            try:
                while output.follow():
                    if self._over.is_set() or (until is not None and time.monotonic() > until):
                        _end(process, output)
                        self._hold(output, shown)
                        return None, output.text
            except BaseException:
                _end(process, output)
                raise
            self._hold(output, shown)
            return process.wait(), output.text

    def _hold(self, output: "_Output", shown: threading.Event) -> None:
        if not shown.is_set():
            self._held.append(output.text)


class _Output:
    """What a process writes, kept and shown."""

    def __init__(self, process: subprocess.Popen[bytes], shown: threading.Event) -> None:
        assert process.stdout is not None
        self._process = process
        self._file = process.stdout
        self._shown = shown
        self._all = bytearray()
        self._written = 0

    @property
    def text(self) -> str:
        return self._all.decode("utf-8", "replace")

    def follow(self) -> bool:
        """Takes what was written within half a second; False at the end of the output."""
        piece = b""
        if select.select([self._file], [], [], 0.5)[0]:
            piece = os.read(self._file.fileno(), 1 << 16)
            if not piece:
                return False
        self._all += piece
        if self._shown.is_set() and self._written < len(self._all):
            sys.stdout.buffer.write(self._all[self._written :])
            sys.stdout.flush()
            self._written = len(self._all)
        # What a process has started may outlive it, with its output open.
        return bool(piece) or self._process.poll() is None


def _end(process: subprocess.Popen[bytes], output: _Output) -> None:
    """Ends a stage as Ctrl-C does, so that its tests end what they have started; then for good."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    deadline = time.monotonic() + ENDS_WITHIN_S
    while time.monotonic() < deadline and output.follow():
        pass
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _to_run_again(ended: Ended, cache: str) -> list[str]:
    """The failed tests of a stage that run once more: few, and none for a file's import."""
    # Other codes than 1 are no failed tests: the run was interrupted, or could not start.
    if not ended.stage.again or ended.code != 1:
        return []
    with contextlib.suppress(OSError):
        failed = list(json.loads(Path(cache, "v/cache/lastfailed").read_text("utf-8")))
        if len(failed) <= MOST_AGAIN and all("::" in name for name in failed):
            return failed
    return []


def say(text: str) -> None:
    """Prints a line now."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
