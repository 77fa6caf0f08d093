"""Counts instructions of `tlslab-load in-memory` under valgrind's callgrind.

A simulator executes the program; its counts do not depend on the load or the speed of the machine.
The remaining randomness (keys, nonces, addresses of memory) is averaged over the handshakes. The
one-time work of every process cancels: the count of a run of N is subtracted from one of 2 N.
"""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlslab.domain.errors import CannotRunError
from tlslab.lab.programs import require_program
from tlslab.servers.base import require

# All work of a side is inside these functions (in_memory/exchange.rs, bulk.rs), which are never
# inlined.
SIDES: Mapping[str, tuple[str, ...]] = {
    "client": ("exchange::client_open", "exchange::client_step", "exchange::client_close"),
    "server": ("exchange::server_open", "exchange::server_step", "exchange::server_close"),
    "seal": ("bulk::seal_batch",),
    "open": ("bulk::open_batch",),
}

# Callgrind is about fifty times slower than the processor.
PATIENCE_S = 900.0

_FUNCTION = re.compile(r"(c?)fn=\((\d+)\)(?: (.*))?")


@dataclass(frozen=True)
class Counted:
    """Instructions of each side in one run, and the code path that the libraries chose."""

    sides: Mapping[str, int]
    code_path: str


def count(flags: Sequence[str], number: int) -> Counted:
    """One run of N handshakes, or records. Raises CannotRunError."""
    valgrind = require("valgrind", "valgrind", "run scripts/install-debian.sh")
    with tempfile.TemporaryDirectory(prefix="tlslab-callgrind-") as folder:
        file = Path(folder) / "callgrind.out"
        simulator = [valgrind, "--tool=callgrind", f"--callgrind-out-file={file}"]
        program = [require_program("tlslab-load"), "--in-memory", *flags, "-n", str(number)]
        try:
            done = subprocess.run(
                [*simulator, *program, "--json"],
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE_S,
            )
        except subprocess.TimeoutExpired:
            raise CannotRunError(f"callgrind did not end within {PATIENCE_S:.0f} s") from None
        if done.returncode != 0 or not file.exists():
            words = done.stderr.strip()[-400:]
            raise CannotRunError(f"callgrind ended with code {done.returncode}: {words}")
        record = json.loads(done.stdout)
        with file.open(encoding="utf-8", errors="replace") as lines:
            return Counted(inclusive(lines), str(record["versions"]["code_path"]))


def inclusive(lines: Iterable[str]) -> dict[str, int]:
    """Instructions of each side including all callees, from callgrind's file.

    The cost of a call is in the line after its `calls=` line, the callee in the `cfn=` line before.
    A function's name is given once and is a number from then on.
    """
    names: dict[str, str] = {}
    totals = dict.fromkeys(SIDES, 0)
    callee, is_call = "", False
    for line in lines:
        if is_call:
            is_call = False
            if (side := _side(callee)) is not None:
                totals[side] += int(line.split()[1])
        elif line.startswith("calls="):
            is_call = True
        elif found := _FUNCTION.match(line):
            if found[3] is not None:
                names[found[2]] = found[3].strip()
            if found[1]:
                callee = names.get(found[2], "")
    return totals


def _side(function: str) -> str | None:
    for side, parts in SIDES.items():
        if any(part in function for part in parts):
            return side
    return None
