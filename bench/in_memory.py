"""Part of `make bench`: the cost that the engine adds to a direct loop over rustls.

Interleaved runs of `tlslab-load in-memory` and of `crates/load/examples/in_memory_direct.rs`,
which makes the same handshakes without the engine. The bench compares the thread's processor time
per handshake, which each of the two reads around its own loop. Exit codes: 0 every bar met, 1 a bar
missed, 3 could not run. BENCH_BLOCKS changes the number of blocks (10).
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.blocks import interleaved, ratio
from bench.child import PROCESSOR
from tlslab.domain.errors import CannotRunError, TlslabError
from tlslab.servers.base import pinned
from tlslab.servers.programs import require_program

ROOT = Path(__file__).parent.parent
DIRECT = ROOT / "target" / "release" / "examples" / "in_memory_direct"

# Handshakes of a run: about a second.
HANDSHAKES = 5000

FORMS = ("full", "resumed")

# The largest allowed cost of the engine, as a multiple of the direct loop's.
BAR = 1.05

PATIENCE_S = 120.0


def main() -> int:
    """Runs both, interleaved; returns the exit code."""
    try:
        build()
        met = [show(form, measure(form)) for form in FORMS]
        return 0 if all(met) else 1
    except TlslabError as error:
        print(f"bench: {error.message}" + (f"; {error.remedy}" if error.remedy else ""))
        return error.exit_code


def build() -> None:
    """Compiles the direct loop, which is not among the installed programs."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--workspace"]
    example = ["--example", "in_memory_direct"]
    if subprocess.run([*command, *example], cwd=ROOT, check=False).returncode != 0:
        raise CannotRunError("the direct loop does not compile")


def measure(form: str) -> dict[str, dict[int, float]]:
    """Processor time of a handshake in microseconds by contestant and block, in random order."""
    program = require_program("tlslab-load")
    commands = {
        "engine": [program, "--in-memory", "--backend", "rustls", "--handshake", form, "--json"],
        "direct": [str(DIRECT)],
    }
    commands["engine"] += ["-n", str(HANDSHAKES)]
    commands["direct"] += [str(HANDSHAKES), form]
    return interleaved(sorted(commands), lambda name: cpu_us(name, _run(commands[name])))


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(
        pinned(command, [PROCESSOR], "KILL"),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    if done.returncode != 0:
        raise CannotRunError(
            f"{command[0]} ended with code {done.returncode}: {done.stderr[-400:]}"
        )
    return done.stdout


def cpu_us(name: str, output: str) -> float:
    """Processor time of one handshake, from a contestant's output."""
    data = json.loads(output)
    return float(data["cpu_us"] if name == "direct" else data["handshakes"]["cpu_us"])


def show(form: str, found: dict[str, dict[int, float]]) -> bool:
    """Prints the ratio with its interval; returns whether the bar is met."""
    times = ratio(found["engine"], found["direct"])
    met = times.value <= BAR
    costs = ", ".join(
        f"{name} {sum(by_block.values()) / len(by_block):.1f} us"
        for name, by_block in found.items()
    )
    mark = "met   " if met else "missed"
    bar = f"in memory, {form}: the engine needs at most {BAR} times a direct loop over rustls"
    print(f"{mark} {bar}: {times:.3f} ({costs})", flush=True)
    return met


if __name__ == "__main__":
    sys.exit(main())
