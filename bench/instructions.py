"""`make bench-instructions`: instructions of each side of a handshake in memory, and of the whole
generator in each cell of the bench, compared with stored ones.

`bench/instructions.json` holds the stored counts by the code that the libraries choose (ADR 0016).
Exit codes: 0 as stored, or nothing stored for this machine's code (reported); 1 more than 1 % (in
memory) or 2 % above or below a stored count; 3 could not run. `--quick` counts the case that CI
watches, `--update` stores the new counts.

valgrind's callgrind executes the program; its counts do not depend on the load or the speed of the
machine. The remaining randomness (keys, nonces, addresses of memory) is averaged over the
handshakes. The one-time work of every process cancels: the count of a run of N is subtracted from
one of 2 N.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.cells import Cell, cells
from bench.generators import Generator
from bench.server import Server, serving
from tlslab.domain.errors import CannotRunError, TlslabError
from tlslab.servers.base import require
from tlslab.servers.programs import require_program

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


def count(command: Sequence[str]) -> Counted:
    """One run of tlslab-load in memory. Raises CannotRunError."""
    with _callgrind(command) as (output, lines):
        return Counted(inclusive(lines), str(json.loads(output)["versions"]["code_path"]))


@contextmanager
def _callgrind(
    command: Sequence[str], codes: Sequence[int] = (0,)
) -> Iterator[tuple[str, Iterable[str]]]:
    """The output of a command that ends with one of these codes, and the lines of callgrind's file.

    Raises CannotRunError.
    """
    valgrind = require("valgrind", "valgrind", "run scripts/install-debian.sh")
    with tempfile.TemporaryDirectory(prefix="tlslab-callgrind-") as folder:
        file = Path(folder) / "callgrind.out"
        simulator = [valgrind, "--tool=callgrind", f"--callgrind-out-file={file}"]
        try:
            done = subprocess.run(
                [*simulator, *command],
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE_S,
            )
        except subprocess.TimeoutExpired:
            raise CannotRunError(f"callgrind did not end within {PATIENCE_S:.0f} s") from None
        if done.returncode not in codes or not file.exists():
            words = done.stderr.strip()[-400:]
            raise CannotRunError(f"callgrind ended with code {done.returncode}: {words}")
        with file.open(encoding="utf-8", errors="replace") as lines:
            yield done.stdout, lines


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


def total(lines: Iterable[str]) -> int:
    """Instructions of the whole program, from callgrind's file."""
    return next(int(line.split()[1]) for line in lines if line.startswith("totals:"))


def _side(function: str) -> str | None:
    for side, parts in SIDES.items():
        if any(part in function for part in parts):
            return side
    return None


STORED = Path(__file__).parent / "instructions.json"
SCHEMA = "tlslab.instructions/1"

# A greater difference is a change. Random differences of a count in memory are below 0.3 %; those
# of a whole generator, whose number of calls depends on the server's pace, were up to 1.0 %.
TOLERANCE = 0.01
WHOLE_TOLERANCE = 0.02

KIB_PER_RECORD = 16

# Every process makes its own certificate, whose numbers affect the cost of verification. More
# processes average this out; more handshakes do not.
REPEATS = 3


@dataclass(frozen=True)
class Case:
    """A counted case: the difference of runs of `number` and of twice `number`, per `unit`."""

    name: str
    flags: tuple[str, ...]
    number: int
    sides: tuple[str, str]
    unit: str = "handshake"


def _cases() -> list[Case]:
    cases = []
    for backend in ("rustls", "openssl"):
        of = ("--backend", backend)
        both = ("client", "server")
        cases += [
            Case(f"{backend} full", of, 32, both),
            Case(f"{backend} resumed", (*of, "--handshake", "resumed"), 32, both),
            Case(
                f"{backend} bulk",
                (*of, "--bulk", "--record-size", "16384", "--direction", "send"),
                128,
                ("seal", "open"),
                "KiB",
            ),
        ]
    return cases


CASES = _cases()

# The cases of `make check`, which take some ten seconds.
WATCHED = CASES[:1]


@dataclass(frozen=True)
class Found:
    """Instructions per unit by side, and the counted code."""

    sides: Mapping[str, float]
    code: str


def main(arguments: Sequence[str]) -> int:
    """Counts, compares, prints; returns the exit code."""
    unknown = set(arguments) - {"--quick", "--update"}
    if unknown:
        print(f"bench-instructions: unknown: {' '.join(sorted(unknown))}")
        return 2
    try:
        found = dict(_measured("--quick" in arguments))
        if "--update" in arguments:
            store(found)
            return 0
        return compare(found, stored())
    except TlslabError as error:
        print(
            f"bench-instructions: {error.message}" + (f"; {error.remedy}" if error.remedy else "")
        )
        return error.exit_code


def _measured(is_quick: bool) -> Iterator[tuple[str, Found]]:
    """What is counted, by name."""
    for case in WATCHED if is_quick else CASES:
        found = measure(case)
        yield case.name, found
    if not is_quick:
        for cell in cells():
            yield cell.name, Found(measure_cell(cell), found.code)


def measure_cell(cell: Cell) -> dict[str, float]:
    """The generator's instructions per connection or request, by generator.

    Raises CannotRunError.
    """
    counts = {}
    with (
        tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
        serving(Path(folder), cell.page) as server,
    ):
        for one in cell.ours:
            print(f"{cell.name}, {one.name}: counting", flush=True)
            (few, once), (many, twice) = (
                _whole(one, server, times * cell.counted) for times in (1, 2)
            )
            counts[one.name] = (twice - once) / (many - few)
    return counts


def _whole(generator: Generator, server: Server, number: int) -> tuple[int, int]:
    """The units that one run completed, and its instructions."""
    assert generator.number is not None
    # The simulated generator is slower than the server, so that its run is not valid: exit code 1.
    with _callgrind(generator.number(server, number), codes=(0, 1)) as (output, lines):
        counted = generator.answer(output, 0)
        if counted.failed:
            raise CannotRunError(f"{generator.name}: {counted.failed} failed while it was counted")
        return counted.completed, total(lines)


def measure(case: Case) -> Found:
    """The instructions of one unit of a case, by each side. Raises CannotRunError."""
    print(f"{case.name}: counting", flush=True)
    program = [require_program("tlslab-load"), "--in-memory", *case.flags, "--json", "-n"]
    once = [count([*program, str(case.number)]) for _ in range(REPEATS)]
    twice = [count([*program, str(2 * case.number)]) for _ in range(REPEATS)]
    units = REPEATS * case.number * (KIB_PER_RECORD if case.unit == "KiB" else 1)

    def of(runs: Sequence[Counted], side: str) -> int:
        return sum(run.sides[side] for run in runs)

    sides = {side: (of(twice, side) - of(once, side)) / units for side in case.sides}
    if min(sides.values()) <= 0:
        raise CannotRunError(f"{case.name}: callgrind shows no instructions of {case.sides}")
    return Found(sides, f"{once[0].code_path} {compiler()}")


def compiler() -> str:
    """The compiler, because another one makes other code from the same source."""
    done = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False)
    words = done.stdout.split()
    if done.returncode != 0 or len(words) < 2:
        raise CannotRunError("rustc does not say its version")
    return f"rustc-{words[1]}"


def stored() -> dict[str, dict[str, dict[str, float]]]:
    """The stored counts by code, case and side."""
    if not STORED.exists():
        return {}
    data = json.loads(STORED.read_text("utf-8"))
    counts: dict[str, dict[str, dict[str, float]]] = data["counts"]
    return counts


def store(found: Mapping[str, Found]) -> None:
    """Replaces the stored counts of the same code; others are kept."""
    counts = stored()
    for name, one in found.items():
        rounded = {side: round(value, 1) for side, value in one.sides.items()}
        counts.setdefault(one.code, {})[name] = rounded
    data = {"schema": SCHEMA, "tolerance": TOLERANCE, "counts": counts}
    STORED.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", "utf-8")
    print(f"stored in {STORED.name}: {', '.join(found)}")


def compare(
    found: Mapping[str, Found], known: Mapping[str, Mapping[str, Mapping[str, float]]]
) -> int:
    """Prints each count beside the stored one; returns 1 if one has changed."""
    changed = []
    for name, one in found.items():
        before = known.get(one.code, {}).get(name, {})
        for side, value in one.sides.items():
            text = f"{name}, {side}: {value:,.0f} instructions"
            if side not in before:
                print(f"{text}; NOTHING STORED for {one.code}")
                continue
            difference = value / before[side] - 1
            print(f"{text}, {difference:+.2%} of the stored {before[side]:,.0f}")
            if abs(difference) > (TOLERANCE if side in SIDES else WHOLE_TOLERANCE):
                changed.append(f"{name}, {side}: {difference:+.2%}")
    _report_unknown({one.code for one in found.values()} - known.keys())
    if not changed:
        return 0
    print("bench-instructions: too far from the stored counts:")
    print("\n".join(f"  {line}" for line in changed))
    print(
        "  if this is meant: make bench-instructions UPDATE=1, and commit bench/instructions.json"
    )
    return 1


def _report_unknown(codes: set[str]) -> None:
    for code in sorted(codes):
        print("=" * 100)
        print(f"bench-instructions: no stored count for this machine's code, {code}")
        print("NOTHING WAS COMPARED. On the commit before yours: make bench-instructions UPDATE=1;")
        print(
            "then on yours: make bench-instructions. That compares the two builds on this machine."
        )
        print("=" * 100)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
