"""`make bench-gate`: how often does the job script stop a slowdown of 5 %, and how often none?

Runs docs/ci/gate.sh on two reference servers, alternately with one that burns 5 % of the processor
time of new connections and with one that burns none, until `--runs` or `--minutes` are used up. The
results are added to those of earlier days in bench/validity.json and docs/validity.md, also after
an interruption. Exit codes: 0 every requirement met, 1 one not met, 3 could not run, 130
interrupted.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.provenance import ROOT, Made, made
from bench.validity_file import FILE, Gated, read
from bench.validity_page import publish
from tlslab.domain.errors import CannotRunError, TlslabError
from tlslab.lab.opening import machine
from tlslab.servers.process import ServerProcess
from tlslab.servers.programs import require_program
from tlslab.servers.reference import EventReader

SCRIPT = ROOT / "docs" / "ci" / "gate.sh"
EXPERIMENT = ROOT / "bench" / "gate.toml"

# Runs with each of the two servers. Fewer show little: 20 without an alarm do not exclude 17 %.
RUNS = 20
MINUTES = 45.0
SHARES = (0.0, 0.05)

# The slowdown must exceed the gate by more than the noise.
GATE = "1%"
BY = "server_cpu_us_per_connection"
BLOCKS = 40

PAGE_PATH = "/bytes/4788"
START_S = 10.0

STOPPED, PASSED, CANNOT_TELL = "stopped", "passed", "cannot_tell"
WARNING = "::warning::"
INTERRUPTED = 130


@dataclass
class Ends:
    """The ends of the runs by the burned share, and their seconds."""

    counts: Mapping[float, Counter[str]] = field(
        default_factory=lambda: {share: Counter() for share in SHARES}
    )
    seconds: dict[float, float] = field(default_factory=lambda: dict.fromkeys(SHARES, 0.0))

    def add(self, share: float, end: str, seconds: float) -> None:
        """Counts a run."""
        self.counts[share][end] += 1
        self.seconds[share] += seconds

    def rows(self, blocks: int, by: Made) -> tuple[Gated, ...]:
        """The results of each burned share."""
        return tuple(self._row(share, blocks, by) for share in SHARES if self.counts[share])

    def _row(self, share: float, blocks: int, by: Made) -> Gated:
        here, ends = machine(), self.counts[share]
        return Gated(
            created=by.created,
            processor=str(here.get("processor", "")),
            processors=int(here.get("processors", 0)),
            kernel=str(here.get("kernel", "")),
            command=by.command,
            gate=GATE,
            by=BY,
            blocks=blocks,
            planted=share,
            seconds=self.seconds[share] / ends.total(),
            stopped=ends[STOPPED],
            passed=ends[PASSED],
            cannot_tell=ends[CANNOT_TELL],
            commit=by.commit,
        )


def main() -> int:
    """Runs the script and writes the results; returns the exit code."""
    asked = _arguments()
    options = f"--runs {asked.runs} --minutes {asked.minutes:g} --blocks {asked.blocks}"
    ends, by, code = Ends(), made(f"python -m bench.gate {options}"), 0
    try:
        gated(ends, asked.runs, 60 * asked.minutes, asked.blocks)
    except TlslabError as error:
        print(f"bench: {error.message}" + (f"; {error.remedy}" if error.remedy else ""))
        code = error.exit_code
    except KeyboardInterrupt:
        code = INTERRUPTED
    kept = read(FILE)
    missed = publish(replace(kept, gated=(*kept.gated, *ends.rows(asked.blocks, by))))
    return code or missed


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.gate")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs with each of both servers")
    parser.add_argument(
        "--minutes", type=float, default=MINUTES, help="no run begins that would end after these"
    )
    parser.add_argument("--blocks", type=int, default=BLOCKS, help="BLOCKS of the script")
    return parser.parse_args()


def gated(ends: Ends, runs: int, budget_s: float, blocks: int) -> None:
    """Adds runs with both servers in turns, as long as they fit the budget. Raises CannotRunError.

    The first run with each server is always made.
    """
    begun = time.monotonic()
    longest = 0.0
    with tempfile.TemporaryDirectory(prefix="tlslab-gate-") as name:
        for number in range(runs):
            if number and time.monotonic() - begun + len(SHARES) * longest > budget_s:
                return
            for share in SHARES:
                folder = Path(name) / f"{number}-{share:g}"
                folder.mkdir()
                start = time.monotonic()
                end = once(folder, share, blocks)
                seconds = time.monotonic() - start
                longest = max(longest, seconds)
                ends.add(share, end, seconds)
                print(
                    f"[{number + 1}/{runs}] {100 * share:g} % burned: {end}, {seconds:.0f} s",
                    flush=True,
                )


def once(folder: Path, share: float, blocks: int) -> str:
    """Runs the script once on fresh servers; returns how it ended. Raises CannotRunError."""
    with ExitStack() as stack:
        base, head = (
            stack.enter_context(_server(folder, name, burned))
            for name, burned in (("base", 0.0), ("head", share))
        )
        both = folder / "both.pem"
        both.write_text("".join(_authority(folder, name).read_text() for name in ("base", "head")))
        programs = Path(sys.executable).parent
        ended = subprocess.run(
            [str(SCRIPT), "--ca", str(both)],
            env={
                **os.environ,
                "PATH": f"{programs}:{os.environ['PATH']}",
                "BASE_URL": base,
                "HEAD_URL": head,
                "EXPERIMENT": str(EXPERIMENT),
                "GATE": GATE,
                "GATE_BY": BY,
                "BLOCKS": f"{blocks}",
                "RUNS": str(folder / "runs"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
    return how_it_ended(ended.returncode, ended.stdout, ended.stderr)


def how_it_ended(code: int, said: str, errors: str) -> str:
    """The end of the script by its exit code and output.

    Raises CannotRunError for any other code.
    """
    if code not in (0, 1):
        raise CannotRunError(f"{SCRIPT.name} ended with {code}: {errors.strip()[-400:]}")
    if code == 1:
        return STOPPED
    return CANNOT_TELL if WARNING in said else PASSED


@contextmanager
def _server(folder: Path, name: str, burned: float) -> Iterator[str]:
    """A reference server that burns a share of its processor time; the URL of a document."""
    command = [require_program("tlslab-serve"), "--burn", f"{100 * burned:g}%"]
    command += ["--ca-out", str(_authority(folder, name))]
    process = ServerProcess(command, folder / f"{name}.log", capture=True)
    try:
        ready = EventReader(process).wait_for("ready", START_S)
        yield f"https://localhost:{ready['address'].rpartition(':')[2]}{PAGE_PATH}"
    finally:
        process.stop()


def _authority(folder: Path, name: str) -> Path:
    """The file of the authority that issued the server's certificates."""
    return folder / f"{name}.pem"


if __name__ == "__main__":
    sys.exit(main())
