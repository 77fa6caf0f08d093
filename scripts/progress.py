"""Shows one line of progress for a long command.

A terminal shows a line that is rewritten; elsewhere a line is printed every 20 s. Needs only
Python's standard library.

    progress.py TITLE -- COMMAND...     run COMMAND, its output kept back unless it fails
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

WITHOUT_TERMINAL_S = 20

MOVES_S = 0.5

# The variable that names a file of stages: a line for each, with its seconds and its title. Shared
# with announce.sh.
STAGES = "TLSLAB_STAGES"

# The number of shown lines of a command that failed.
LAST_LINES = 40

_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


class Progress:
    """A title, the elapsed time, and the current step of each of several jobs."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._began = time.monotonic()
        self._jobs: dict[str, str] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._terminal = sys.stdout.isatty()
        self._mover = threading.Thread(target=self._move, daemon=True)

    def __enter__(self) -> "Progress":
        sys.stdout.write(f"== {self.title}\n")
        sys.stdout.flush()
        self._mover.start()
        return self

    def __exit__(self, *failed: object) -> None:
        self._over.set()
        self._mover.join()
        if self._terminal:
            sys.stdout.write("\r\x1b[K")
        how = "done" if failed[0] is None else "failed"
        seconds = self._seconds()
        sys.stdout.write(f"== {how} in {seconds} s: {self.title}\n")
        sys.stdout.flush()
        if stages := os.environ.get(STAGES):
            with Path(stages).open("a", encoding="utf-8") as file:
                file.write(f"{seconds}\t{self.title}\n")

    def say(self, job: str, at: str) -> None:
        """Sets the current step of a job; an empty step removes the job from the line."""
        with self._lock:
            if at:
                self._jobs[job] = at
            else:
                self._jobs.pop(job, None)

    def _seconds(self) -> int:
        return round(time.monotonic() - self._began)

    def _move(self) -> None:
        while not self._over.wait(MOVES_S if self._terminal else WITHOUT_TERMINAL_S):
            minutes, seconds = divmod(self._seconds(), 60)
            with self._lock:
                line = "; ".join([f"   {minutes}:{seconds:02}", *self._jobs.values()])
            if self._terminal:
                width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
                sys.stdout.write(f"\r{line[: width - 1]}\x1b[K")
            else:
                sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


class Command:
    """A command whose output is kept back; its last words are on the line."""

    def __init__(
        self, arguments: Sequence[str | Path], environment: Mapping[str, str] | None = None
    ) -> None:
        self.arguments = [str(each) for each in arguments]
        self.environment = {**os.environ, **(environment or {})}
        self.output = b""
        self._unwanted = threading.Event()

    def run(self, progress: Progress, job: str) -> int:
        """Runs it to its end; returns its exit code.

        A failure's last lines go to standard error.
        """
        with (
            tempfile.TemporaryFile() as log,
            subprocess.Popen(
                self.arguments,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process,
        ):
            try:
                while True:
                    try:
                        code = process.wait(MOVES_S)
                        break
                    except subprocess.TimeoutExpired:
                        if self._unwanted.is_set():
                            os.killpg(process.pid, signal.SIGTERM)
                        progress.say(job, self.at(_last(log.fileno(), 4000)))
            except BaseException:
                os.killpg(process.pid, signal.SIGINT)
                raise
            progress.say(job, "")
            self.output = _last(log.fileno(), 100_000)
        if code and not self._unwanted.is_set():
            lines = plain_lines(self.output)[-LAST_LINES:]
            sys.stderr.write("\n".join(["", *lines, f"failed: {' '.join(self.arguments)}", ""]))
        return code

    def cancel(self) -> None:
        """Makes `run`, in another thread, end the command and all that it has started."""
        self._unwanted.set()

    def at(self, output: bytes) -> str:
        """The text for the line, from the end of the output so far."""
        lines = plain_lines(output)
        return lines[-1] if lines else ""


class Cargo(Command):
    """A build by cargo: the number of finished crates, and the current ones."""

    def __init__(self, arguments: Sequence[str]) -> None:
        shown = {
            "CARGO_TERM_PROGRESS_WHEN": "always",
            "CARGO_TERM_PROGRESS_WIDTH": "200",
            "CARGO_TERM_COLOR": "never",
        }
        super().__init__(["cargo", *arguments], shown)

    def at(self, output: bytes) -> str:
        """For example "97 of 143 crates: openssl-sys(build), aws-lc-sys(build)"."""
        found = re.findall(rb"\] (\d+)/(\d+): ([^\r\n]*)", output)
        if not found:
            return super().at(output)
        done, of, names = (each.decode("utf-8", "replace") for each in found[-1])
        return f"{done} of {of} crates: {_CONTROLS.sub('', names).strip()}"


def plain_lines(output: bytes) -> list[str]:
    """The lines of a program's output, without progress bars and control characters."""
    text = output.decode("utf-8", "replace")
    lines = [_CONTROLS.sub("", line.rpartition("\r")[2]).rstrip() for line in text.split("\n")]
    return [line for line in lines if line and not re.match(r"\s*Building \[", line)]


def _last(file: int, size: int) -> bytes:
    end = os.fstat(file).st_size
    return os.pread(file, size, max(0, end - size))


def main(arguments: list[str]) -> int:
    """Runs the command after `--`; returns its exit code."""
    title, _, *command = arguments
    try:
        with Progress(title) as progress:
            code = Command(command).run(progress, title)
            if code:
                raise SystemExit(code)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
