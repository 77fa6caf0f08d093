"""Run folders.

A run folder holds experiment.toml, plan.json, environment.json, trials.jsonl, summary.json and
report.html; sittings.jsonl if it was resumed, stacks.jsonl if call stacks were sampled.

`trials.jsonl` only ever grows, one line per finished trial, each forced to the disk before the next
trial starts: finished trials survive a kill -9. A truncated last line is not a trial.
"""

import base64
import binascii
import errno
import fcntl
import json
import os
import shlex
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from tlslab.domain.codec import from_json, to_json
from tlslab.domain.errors import StoreError
from tlslab.domain.finding import Summary
from tlslab.domain.plan import Plan
from tlslab.domain.run import Environment, Sitting, on_one_machine
from tlslab.domain.stacks import CellStacks
from tlslab.domain.trial import Trial
from tlslab.domain.wording import counted
from tlslab.lab.store.soundness import check_environment, check_trial, read_finite

T = TypeVar("T")

PLAN_SCHEMA = "tlslab.plan/1"
ENVIRONMENT_SCHEMA = "tlslab.environment/1"
TRIAL_SCHEMA = "tlslab.trial/2"
SITTING_SCHEMA = "tlslab.sitting/1"
STACKS_SCHEMA = "tlslab.stacks/1"
SUMMARY_SCHEMA = "tlslab.summary/3"

EXPERIMENT = "experiment.toml"
PLAN = "plan.json"
ENVIRONMENT = "environment.json"
TRIALS = "trials.jsonl"
SET_ASIDE = "set_aside.jsonl"
SITTINGS = "sittings.jsonl"
STACKS = "stacks.jsonl"
SUMMARY = "summary.json"
REPORT = "report.html"
LOCK = ".lock"

# The largest part of the lock file that is read: a process id.
_ID_BYTES = 32

DAMAGED = "the folder is damaged or was copied in part: take a whole copy, or measure anew"
TAKE_OUT = "take out this line and use the others; --resume runs its trial again"
NO_ROOM = "make room, or choose another folder with --out"
NOT_ALLOWED = "give yourself the right to it, or name another folder"

# Remedies for errors that are neither a damage nor a lack of room.
_REMEDIES = {
    errno.EACCES: NOT_ALLOWED,
    errno.EPERM: NOT_ALLOWED,
    errno.ENAMETOOLONG: "name another folder",
}


def _nothing(value: object) -> None:
    """Checks nothing: the form of the JSON is enough."""


class Lock:
    """A lock held from its creation until it is closed, or until its process ends.

    Only one process at a time continues a run: two would run the same trials, and each would cut
    off the other's line while it is being written. The kernel releases the lock when its owner
    dies, so that no lock is left behind. Reading a run folder needs no lock.
    """

    def __init__(self, folder: Path) -> None:
        """Raises StoreError if another process holds it, OSError if there can be no lock."""
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            owner = _owner(handle)
            os.close(handle)
            raise StoreError(
                f"{folder}: another tlslab{owner} is at work on this run",
                "wait until it has ended, or end it",
            ) from None
        except OSError:
            os.close(handle)
            raise
        weakref.finalize(self, os.close, handle)


def _owner(handle: int) -> str:
    """The process that holds the lock, as recorded by itself; the file may contain anything."""
    text = os.pread(handle, _ID_BYTES, 0).strip()
    return f" (process {int(text)})" if text.isdigit() else ""


class RunFolder:
    """One run's folder. All errors of the file system are raised as StoreError."""

    def __init__(self, path: Path, lock: Lock | None = None) -> None:
        self.path = path
        self._lock = lock
        self._sitting = 0
        self._next: Sitting | None = None

    @classmethod
    def create(
        cls, path: Path, experiment: str, plan: Plan, environment: Environment
    ) -> "RunFolder":
        """Makes a new folder, for this process alone; refuses one that already holds a run."""
        with _file_errors(path):
            path.mkdir(parents=True, exist_ok=True)
            _sync(path.parent)
            folder = cls(path, Lock(path))
            if (path / PLAN).exists():
                raise StoreError(
                    f"{path} already holds a run", "choose another --out, or --resume it"
                )
        folder._write(EXPERIMENT, experiment)
        folder._write_json(ENVIRONMENT, ENVIRONMENT_SCHEMA, environment)
        folder._write_json(PLAN, PLAN_SCHEMA, plan)
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """An existing folder; refused if there is no run in it."""
        with _file_errors(path, DAMAGED):
            if not path.is_dir():
                raise StoreError(f"{path} is no run folder: there is no such folder")
            if not (path / PLAN).is_file():
                remedy = DAMAGED if (path / TRIALS).exists() else ""
                raise StoreError(f"{path} holds no run: it has no {PLAN}", remedy)
        return cls(path)

    @classmethod
    def resume(cls, path: Path) -> "RunFolder":
        """An existing folder to continue, by this process alone."""
        folder = cls.open(path)
        with _file_errors(path):
            folder._lock = Lock(path)
        return folder

    def experiment_text(self) -> str:
        """The experiment as it was run, in TOML."""
        with _file_errors(self.path / EXPERIMENT, DAMAGED):
            return (self.path / EXPERIMENT).read_text("utf-8")

    def plan(self) -> Plan:
        """The plan."""
        return self._read_json(PLAN, PLAN_SCHEMA, Plan)

    def environment(self) -> Environment:
        """The environment of the run, with its sittings."""
        found = self._read_json(ENVIRONMENT, ENVIRONMENT_SCHEMA, Environment, check_environment)
        later = tuple(self._lines(SITTINGS, SITTING_SCHEMA, Sitting))
        return replace(found, later=later if self._next is None else (*later, self._next))

    def sit_down(self, sitting: Sitting) -> None:
        """Begins a later sitting, which is on record with its first trial."""
        self._next = sitting

    def summary(self) -> Summary:
        """The summary of the last analysis."""
        return self._read_json(SUMMARY, SUMMARY_SCHEMA, Summary)

    def damages(self) -> tuple[str, ...]:
        """The damages of the folder, one sentence each; empty for a whole folder."""
        path = self.path / TRIALS
        rest = f"tlslab run --resume {shlex.quote(str(self.path))} runs what is missing"
        with _file_errors(path, DAMAGED):
            if not path.exists():
                return (f"{path} is not there: no trial was finished; {rest}",)
            data = path.read_bytes()
        if not data:
            return (f"{path} is empty: no trial was finished, or they are lost; {rest}",)
        if not data.endswith(b"\n"):
            whole = counted(data.count(b"\n"), "trial")
            return (f"{path}: the last line is cut off; {whole} before it whole; {rest}",)
        return ()

    def trials(self) -> tuple[Trial, ...]:
        """All finished trials that count, in the order in which they were run."""
        found = tuple(self._lines(TRIALS, TRIAL_SCHEMA, Trial, check_trial))
        if not any(trial.sitting for trial in found):
            return found
        machines = self.environment().machines
        if unknown := {trial.sitting for trial in found} - set(machines):
            path = self.path / SITTINGS
            raise StoreError(f"{path} has no line for sitting {min(unknown)}", DAMAGED)
        return on_one_machine(found, machines) if self.plan().trials else found

    def _lines(
        self, name: str, schema: str, kind: type[T], check: Callable[[T], None] = _nothing
    ) -> Iterator[T]:
        """The whole lines of a file that only grows."""
        path = self.path / name
        with _file_errors(path, DAMAGED):
            if not path.exists():
                return
            lines = path.read_bytes().split(b"\n")
        # The text after the last newline was cut off by a kill or a full disk, or is empty.
        for number, line in enumerate(lines[:-1], start=1):
            try:
                data = read_finite(line)
                _check_schema(data, schema)
                found = from_json(data, kind)
                check(found)
            except (ValueError, RecursionError, StoreError) as error:
                raise StoreError(f"{path}:{number}: {error}", TAKE_OUT) from None
            yield found

    def append(self, trial: Trial) -> None:
        """Adds a finished trial, or an attempt that was set aside, and forces it to the disk."""
        name = SET_ASIDE if trial.set_aside else TRIALS
        if self._next is not None:
            self._append(SITTINGS, {"schema": SITTING_SCHEMA, **to_json(self._next)})
            self._sitting, self._next = self._next.number, None
        if self._sitting:
            trial = replace(trial, sitting=self._sitting)
        self._append(name, {"schema": TRIAL_SCHEMA, **to_json(trial)})

    def _append(self, name: str, data: Any) -> None:
        """Adds a line to a file that only grows, and forces it to the disk."""
        line = json.dumps(data, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        path = self.path / name
        with _file_errors(path):
            is_new = not path.exists()
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                _append_whole(handle, line)
            finally:
                os.close(handle)
            if is_new:
                _sync(self.path)

    def append_stacks(self, stacks: CellStacks) -> None:
        """Adds the samples of a cell; later samples replace earlier ones."""
        packed = replace(stacks, folded=pack(stacks.folded))
        self._append(STACKS, {"schema": STACKS_SCHEMA, **to_json(packed)})

    def stacks(self) -> tuple[CellStacks, ...]:
        """The samples of each cell that has any, or the reason for their absence."""
        found = self._lines(STACKS, STACKS_SCHEMA, CellStacks)
        latest = {each.cell: each for each in found}
        try:
            return tuple(replace(each, folded=unpack(each.folded)) for each in latest.values())
        except ValueError as error:
            raise StoreError(f"{self.path / STACKS}: {error}", DAMAGED) from None

    def write_summary(self, summary: Summary, report: str) -> None:
        """Writes the summary and its page, in place of older ones."""
        self._write_json(SUMMARY, SUMMARY_SCHEMA, summary)
        self._write(REPORT, report)

    @classmethod
    def write_comparison(cls, path: Path, summary: Summary, report: str) -> None:
        """Writes the summary and page of a comparison into a folder without a run."""
        with _file_errors(path):
            if (path / PLAN).exists():
                raise StoreError(f"{path} already holds a run", "choose another --out")
            path.mkdir(parents=True, exist_ok=True)
        cls(path).write_summary(summary, report)

    def _write_json(self, name: str, schema: str, value: Any) -> None:
        data = {"schema": schema, **to_json(value)}
        self._write(name, json.dumps(data, allow_nan=False, indent=1) + "\n")

    def _write(self, name: str, text: str) -> None:
        """Replaces a whole file at once: readers see the old one or the new one."""
        path = self.path / name
        draft = self.path / f".{name}.draft"
        with _file_errors(path):
            try:
                with draft.open("w", encoding="utf-8") as handle:
                    handle.write(text)
                    handle.flush()
                    os.fsync(handle.fileno())
                draft.replace(path)
                _sync(self.path)
            except OSError:
                draft.unlink(missing_ok=True)
                raise

    def _read_json(
        self, name: str, schema: str, kind: type[T], check: Callable[[T], None] = _nothing
    ) -> T:
        path = self.path / name
        with _file_errors(path, DAMAGED):
            text = path.read_text("utf-8")
        try:
            data = read_finite(text)
            _check_schema(data, schema)
            known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
            found = from_json({k: v for k, v in data.items() if k in known}, kind)
            check(found)
        except (ValueError, RecursionError, StoreError) as error:
            raise StoreError(f"{path}: {error}", DAMAGED) from None
        return found


def _sync(folder: Path) -> None:
    """Forces a folder's entries to the disk, so that a new file survives a power failure."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems neither support nor need this.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


def _append_whole(handle: int, line: bytes) -> None:
    """Appends a line after the last whole one; removes a line that did not fit."""
    end = _end_of_last_line(handle)
    os.ftruncate(handle, end)
    os.lseek(handle, end, os.SEEK_SET)
    try:
        left = memoryview(line)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    except OSError:
        os.ftruncate(handle, end)
        raise


def _end_of_last_line(handle: int) -> int:
    """The offset after the last newline: the rest was cut off by a kill."""
    step = 1 << 16
    end = os.lseek(handle, 0, os.SEEK_END)
    while end > 0:
        start = max(0, end - step)
        found = os.pread(handle, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _check_schema(data: Any, schema: str) -> None:
    found = data.get("schema") if isinstance(data, dict) else None
    if found != schema:
        raise StoreError(f"its schema is {found!r:.80}; this tlslab reads '{schema}'")


@contextmanager
def _file_errors(path: Path, remedy: str | None = None) -> Iterator[None]:
    """Converts errors of the file system into one line that names the file."""
    try:
        yield
    except UnicodeDecodeError:
        raise StoreError(f"{path}: not a text in UTF-8", remedy or DAMAGED) from None
    except FileNotFoundError as error:
        words = error.strerror if remedy is None else f"{path.name} is missing"
        place = path if remedy is None else path.parent
        raise StoreError(f"{place}: {words}", remedy or NO_ROOM) from None
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, remedy)
        raise StoreError(f"{path}: {error.strerror or error}", remedy or NO_ROOM) from None


def pack(text: str) -> str:
    """The text as a word in ASCII; empty for an empty text."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode() if text else ""


def unpack(word: str) -> str:
    """The original text. Raises ValueError for a word that `pack` did not make."""
    try:
        return zlib.decompress(base64.b64decode(word, validate=True)).decode() if word else ""
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"not a packed text: {error}") from None
