"""`make bench-validity`: does "95 %" mean 95 %, simulated and on this machine?

1,000 simulated runs of equal cells for each plan, simulated slowdowns of 5 %, then real runs of the
reference server under two names beside one that is 5 % slower. The results are written to
bench/validity.json and, as a page that compares them with the requirements, to docs/validity.md.
`--real N` is the number of real runs, 0 for none; they are added to those of earlier days.
Exit codes: 0 every requirement met, 1 one not met, 3 could not run.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from bench.provenance import commit, made
from bench.simulated import PLANS, Found, Plan, simulate
from bench.validity_file import (
    FILE,
    By,
    Equal,
    Longer,
    Planted,
    Real,
    read,
)
from bench.validity_page import publish
from tlslab.analysis.selftest_outcome import judge_selftest
from tlslab.cli.progress import watch
from tlslab.domain.errors import TlslabError
from tlslab.domain.run import RunContents
from tlslab.domain.selftest import Ability
from tlslab.lab import experiment_run
from tlslab.lab.results import read_contents
from tlslab.lab.selftest_run import BLOCKS, TARGET, selftest_experiment
from tlslab.lab.store import RunFolder

RUNS = 1000
REAL = 100
CELLS = (2, 3, 4, 5, 6)
NOISES = (0.01, 0.02, 0.03)
EQUAL_NOISE = 0.02
SLOWER = 0.05

# The number of simulated runs whose outcomes are kept: a test repeats them, and fails if the code
# has changed them.
FIRST = 20

BURN = "5%"

# The numbers of blocks of longer runs cut from the same trials, and the cells of each.
LONGER = (10, 15, 20, 25, 40)
PAIR = 2


def main() -> int:
    """Runs the requested parts and writes the results; returns the exit code."""
    asked = _arguments()
    kept = read(FILE)
    by = made(f"python -m bench.validity --runs {asked.runs} --real 0")
    try:
        if not asked.no_simulation:
            equal, slower = simulated(asked.runs)
            kept = replace(kept, equal=equal, planted=slower, simulated=by)
        if asked.real:
            kept = replace(kept, real=(*kept.real, real(asked.real, asked.out)))
    except TlslabError as error:
        print(f"bench: {error.message}" + (f"; {error.remedy}" if error.remedy else ""))
        return error.exit_code
    return publish(kept)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.validity")
    parser.add_argument("--runs", type=int, default=RUNS, help="simulated runs of each plan")
    parser.add_argument("--real", type=int, default=REAL, help="real runs of equal servers")
    parser.add_argument("--no-simulation", action="store_true", help="real runs only")
    parser.add_argument("--out", type=Path, help="the run folder of the real runs")
    return parser.parse_args()


def simulated(runs: int) -> tuple[tuple[Equal, ...], tuple[Planted, ...]]:
    """Equal cells and planted slowdowns, for every plan, on all processors."""
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        equal = [pool.submit(equal_cells, plan, runs) for plan in PLANS]
        slower = [pool.submit(planted, plan, noise, runs) for plan in PLANS for noise in NOISES]
        return tuple(each.result() for each in equal), tuple(each.result() for each in slower)


def equal_cells(plan: Plan, runs: int) -> Equal:
    """Runs of two to six equal cells in turn: the number with a false difference."""
    found = [simulate(plan, CELLS[seed % len(CELLS)], EQUAL_NOISE, seed) for seed in range(runs)]
    return Equal(
        plan=plan.name,
        runs=runs,
        ranking=sum(each.ranking for each in found),
        table=sum(each.table for each in found),
        either=sum(each.ranking or each.table for each in found),
        first="".join("-rtb"[each.ranking + 2 * each.table] for each in found[:FIRST]),
    )


def _letter(found: Found) -> str:
    """The blocks of a run as a letter; a capital if the slowdown was found."""
    letter = chr(ord("a") + found.blocks)
    return letter.upper() if found.slower else letter


def planted(plan: Plan, noise: float, runs: int) -> Planted:
    """Runs of two cells, one slower: the number that find the difference, and their blocks."""
    found = [simulate(plan, 2, noise, seed, SLOWER) for seed in range(runs)]
    return Planted(
        plan=plan.name,
        noise=noise,
        slower=SLOWER,
        runs=runs,
        found=sum(each.slower for each in found),
        blocks=sum(each.blocks for each in found) / runs,
        first="".join(map(_letter, found[:FIRST])),
    )


def real(tries: int, out: Path | None) -> Real:
    """Real runs: fresh servers for each trial, the lab's own conductor and analysis."""
    experiment = selftest_experiment(tries * BLOCKS, (BURN,))
    command = ("python", "-m", "bench.validity", "--real", str(tries))
    with watch() as observer:
        request = experiment_run.Request(experiment, (TARGET,), command, out)
        done = experiment_run.execute(request, observer)
    return judged(read_contents(RunFolder.open(done.folder)), command)


def judged(contents: RunContents, command: Sequence[str]) -> Real:
    """The results of a day's trials, in short runs and in longer ones."""
    found = judge_selftest(contents, BLOCKS)
    return Real(
        created=found.created,
        tlslab=found.tlslab,
        processor=str(found.machine.get("processor", "")),
        processors=int(found.machine.get("processors", 0)),
        kernel=str(found.machine.get("kernel", "")),
        command=" ".join(command),
        blocks=BLOCKS,
        measure_ms=found.measure_ms,
        by=tuple(_by(ability) for ability in found.by),
        longer=tuple(
            Longer(
                by.estimate,
                blocks,
                blocks * PAIR * _seconds(contents),
                by.runs,
                by.alarms,
                by.found,
            )
            for blocks in LONGER
            for by in map(_by, judge_selftest(contents, blocks).by)
        ),
        commit=commit(),
    )


def _seconds(contents: RunContents) -> float:
    """The mean time from the start of one trial to that of the next, in seconds."""
    first, *_, last = (datetime.fromisoformat(each.started) for each in contents.trials)
    return (last - first).total_seconds() / (len(contents.trials) - 1)


def _by(ability: Ability) -> By:
    (slower,) = ability.planted
    return By(
        estimate=ability.estimate,
        runs=ability.alarms.tries,
        alarms=ability.alarms.found,
        found=slower.found.found,
        ratio=slower.ratio,
        noise=ability.noise,
    )


if __name__ == "__main__":
    sys.exit(main())
