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
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "tests" / "stages.toml"
PYTEST = (str(ROOT / ".venv" / "bin" / "python"), "-m", "pytest")

# The most failed tests of a stage that run once more: others were not disturbed, they are broken.
MOST_AGAIN = 3

# A closing line of pytest, or of a test program of cargo's; what one runner of ours says.
_CLOSING = (
    re.compile(r"^=*\s*(?P<counts>\d+ (?:passed|failed|skipped|error).*) in [\d.]+s\b.*$"),
    re.compile(r"^test result: \w+\. (?P<counts>.*?); \d+ filtered out"),
    re.compile(r"^(?P<counts>\d+ passed, \d+ failed(?:, \d+ skipped)?)$"),
)
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|ignored|errors?)\b")
_SKIPPED = {"ignored": "skipped", "error": "failed", "errors": "failed"}


@dataclass(frozen=True)
class Stage:
    """Tests that run at once: a row of tests/stages.toml.

    `pytest` has the options of pytest, or `run` is a line of shell. `workers` of pytest: "one",
    "processors", or "processors + 1". `again`: up to MOST_AGAIN failed tests run once more.
    `beside`: stages that may run meanwhile, at a lower priority. Without `tests` a stage only
    builds. `always`: a stage of `make test`. Of the others `paths` (patterns; a star stands for
    folders, too) are the files whose change makes `.ci/run` run the stage, and `seconds` is what
    the stage takes as long as no run is kept.
    """

    name: str
    title: str
    pytest: str = ""
    run: str = ""
    workers: str = "one"
    again: bool = False
    beside: tuple[str, ...] = ()
    always: bool = False
    tests: bool = True
    paths: tuple[str, ...] = ()
    seconds: int = 0

    def touched_by(self, files: Sequence[str]) -> bool:
        """Whether one of these files is among those that the stage tests."""
        return touched(files, self.paths)


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
        """Whether there were tests, and all passed."""
        ran = self.counts.passed > 0 or not self.stage.tests
        return self.code == 0 and ran and not self.counts.failed


def touched(files: Sequence[str], patterns: Sequence[str]) -> bool:
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
        for pattern in _CLOSING:
            if found := pattern.match(line):
                for number, kind in _COUNT.findall(found["counts"]):
                    kind = _SKIPPED.get(kind, kind)
                    setattr(counts, kind, getattr(counts, kind) + int(number))
                break
    return counts


class Runner:
    """Runs stages in a folder. `records` gets a line for each test that shows a capability."""

    def __init__(self, records: Path, folder: Path = ROOT, pytest: Sequence[str] = PYTEST) -> None:
        self.records = records
        self.folder = folder
        self.pytest = pytest
        self._over = threading.Event()

    def run(
        self, stage: Stage, beside: Sequence[Stage] = (), until: float | None = None
    ) -> list[Ended]:
        """Runs a stage, and others one after the other beside it, at a lower priority.

        `until` is a time of time.monotonic(). The output of the others is shown at the end.
        """
        others: list[tuple[Ended, str]] = []

        def aside() -> None:
            for number, each in enumerate(beside):
                if not self._over.is_set():
                    others.append(self._attempt(each, f"{cache}/{number}", until, quiet=True))

        say(f"\n== {stage.title}" + "".join(f"; beside it: {each.title}" for each in beside))
        with tempfile.TemporaryDirectory() as cache:
            thread = threading.Thread(target=aside)
            thread.start()
            try:
                ended, _ = self._attempt(stage, f"{cache}/own", until)
            except BaseException:
                self._over.set()
                raise
            finally:
                thread.join()
            for each, output in others:
                say(f"\n== {each.stage.title}\n{output}")
            if failed := _to_run_again(ended, f"{cache}/own"):
                self._once_more(ended, failed, f"{cache}/own", until)
        all_of_them = [ended, *(each for each, _ in others)]
        for each in all_of_them:
            say(f"== {each.seconds} s: {each.stage.title}; {each.line}")
        return all_of_them

    def _attempt(
        self, stage: Stage, cache: str, until: float | None, quiet: bool = False
    ) -> tuple[Ended, str]:
        began = time.monotonic()
        command = self._command(stage, cache) + _workers(stage)
        code, output = self._carry_out(command, until, quiet)
        counts = counted(output)
        return Ended(stage, code, round(time.monotonic() - began), counts), output

    def _once_more(self, ended: Ended, failed: list[str], cache: str, until: float | None) -> None:
        """Runs the failed tests of a stage one after the other; only this outcome counts."""
        began = time.monotonic()
        say("\n== once more, one after the other:\n" + "\n".join(failed))
        command = [*self._command(ended.stage, cache), "--last-failed", "--lfnf", "none"]
        ended.code, output = self._carry_out(command, until, quiet=False)
        again = counted(output)
        ended.counts.passed += again.passed
        ended.counts.failed = again.failed
        ended.seconds += round(time.monotonic() - began)
        if ended.code == 0:
            ended.second_attempt = failed

    def _command(self, stage: Stage, cache: str) -> list[str]:
        if stage.run:
            return ["bash", "-euo", "pipefail", "-c", stage.run]
        own = ["-q", "--stage", stage.name, "--records", str(self.records)]
        return [*self.pytest, *own, "-o", f"cache_dir={cache}", *stage.pytest.split()]

    def _carry_out(
        self, command: Sequence[str], until: float | None, quiet: bool
    ) -> tuple[int | None, str]:
        """Runs a command; returns its exit code (None if it was ended here), and its output."""
        with subprocess.Popen(
            ["nice", "-n", "5", *command] if quiet else command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            output, late = bytearray(), False
            try:
                while True:
                    ended = self._over.is_set() or (until is not None and time.monotonic() > until)
                    if ended and not late:
                        late = True
                        _end(process)
                    if not select.select([process.stdout], [], [], 1)[0]:
                        # What a stage has started may outlive it, with its output open.
                        if process.poll() is not None:
                            break
                        continue
                    if not (piece := os.read(process.stdout.fileno(), 1 << 16)):
                        break
                    output += piece
                    if not quiet:
                        sys.stdout.buffer.write(piece)
                        sys.stdout.flush()
            except BaseException:
                _end(process)
                raise
            code = process.wait()
        return (None if late else code), output.decode("utf-8", "replace")


def say(text: str) -> None:
    """Prints a line now."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _workers(stage: Stage) -> list[str]:
    if stage.run or stage.workers == "one":
        return []
    processors = len(os.sched_getaffinity(0))
    number = {"processors": processors, "processors + 1": processors + 1}[stage.workers]
    return ["-n", str(number), "--dist", "loadfile", "--no-loadscope-reorder"]


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


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a stage as Ctrl-C does, so that its tests end what they have started; then for good."""
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        os.killpg(process.pid, signal.SIGINT)
        process.wait(20)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
