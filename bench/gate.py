"""`make bench-gate`: how often does the job script stop a slowdown of 5 %, and how often none?

Runs docs/ci/gate.sh on two reference servers, by turns with one that burns 5 % of the processor
time of new connections and with one that burns none. The results are added to those of earlier days
in bench/validity.json and docs/validity.md. Exit codes: 0 every requirement met, 1 one not met, 3
could not run.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from bench.validity_file import FILE, ROOT, Gated, read
from bench.validity_page import publish
from tlslab.lab.programs import require_program
from tlslab.model.errors import CannotRunError, TlslabError
from tlslab.store import RunFolder
from tlslab.targets.process import ServerProcess
from tlslab.targets.reference import EventReader

SCRIPT = ROOT / "docs" / "ci" / "gate.sh"

# Runs with each of the two servers. Fewer say little: of 20 without an alarm 17 % is not excluded.
RUNS = 20
SHARES = (0.0, 0.05)

# Between the slowdown and the gate there has to be room for the noise.
GATE = "1%"
BY = "server_cpu_us_per_connection"
BLOCKS = 30
CELL = ("--set", "tls=1.3", "--set", "key=ecdsa-p256", "--set", "group=X25519")
MEASURE = ("--seconds", "0.5")

PAGE_PATH = "/bytes/4788"
START_S = 10.0

STOPPED, PASSED, CANNOT_TELL = "stopped", "passed", "cannot_tell"
WARNING = "::warning::"


def main() -> int:
    """Runs the script and writes the results; the exit code."""
    asked = _arguments()
    command = f"python -m bench.gate --runs {asked.runs} --blocks {asked.blocks}"
    try:
        rows = tuple(gated(asked.runs, asked.blocks, command))
    except TlslabError as error:
        print(f"bench: {error.message}" + (f"; {error.remedy}" if error.remedy else ""))
        return error.exit_code
    kept = read(FILE)
    return publish(replace(kept, gated=(*kept.gated, *rows)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.gate")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs with each of both servers")
    parser.add_argument("--blocks", type=int, default=BLOCKS, help="BLOCKS of the script")
    return parser.parse_args()


def gated(runs: int, blocks: int, command: str) -> Iterator[Gated]:
    """The counts for each share that is burned. Raises CannotRunError."""
    ends: dict[float, Counter[str]] = {share: Counter() for share in SHARES}
    seconds = dict.fromkeys(SHARES, 0.0)
    with tempfile.TemporaryDirectory(prefix="tlslab-gate-") as name:
        for number in range(runs):
            for share in SHARES:
                folder = Path(name) / f"{number}-{share:g}"
                folder.mkdir()
                begun = time.monotonic()
                end = once(folder, share, blocks)
                seconds[share] += time.monotonic() - begun
                ends[share][end] += 1
                print(f"[{number + 1}/{runs}] {100 * share:g} % burned: {end}", flush=True)
        environment = RunFolder.open(folder / "runs" / "head").environment()
    for share in SHARES:
        yield Gated(
            created=environment.created,
            processor=str(environment.machine.get("processor", "")),
            processors=int(environment.machine.get("processors", 0)),
            kernel=str(environment.machine.get("kernel", "")),
            command=command,
            gate=GATE,
            by=BY,
            blocks=blocks,
            planted=share,
            seconds=seconds[share] / runs,
            stopped=ends[share][STOPPED],
            passed=ends[share][PASSED],
            cannot_tell=ends[share][CANNOT_TELL],
        )


def once(folder: Path, share: float, blocks: int) -> str:
    """One run of the script on fresh servers: how it ended. Raises CannotRunError."""
    with ExitStack() as stack:
        base, head = (
            stack.enter_context(_server(folder, name, burned))
            for name, burned in (("base", 0.0), ("head", share))
        )
        both = folder / "both.pem"
        both.write_text("".join(_authority(folder, name).read_text() for name in ("base", "head")))
        programs = Path(sys.executable).parent
        ended = subprocess.run(
            [str(SCRIPT), "--ca", str(both), *CELL, *MEASURE],
            env={
                **os.environ,
                "PATH": f"{programs}:{os.environ['PATH']}",
                "BASE_URL": base,
                "HEAD_URL": head,
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
    """By exit code and output of the script. Raises CannotRunError for any other code."""
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
    """The file of the authority that the server's certificates are trusted by."""
    return folder / f"{name}.pem"


if __name__ == "__main__":
    sys.exit(main())
