"""The self-test of a machine: comparisons of a server with itself, and with slower ones."""

from dataclasses import dataclass
from pathlib import Path

from tlslab.analysis.selftest_outcome import judge_selftest
from tlslab.domain import events
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.domain.experiment import Exclusion, Experiment, Factor
from tlslab.domain.finding import Summary
from tlslab.domain.selftest import Selftest
from tlslab.domain.workload import Window, Workload
from tlslab.experiment import file_kind
from tlslab.experiment.short import asked_for, shortened
from tlslab.lab import experiment_run
from tlslab.lab.matrix.run_in_blocks import trial_seconds
from tlslab.lab.results import read_contents
from tlslab.lab.store import RunFolder
from tlslab.lab.store.selftest_file import write_selftest

TARGET = "reference"

# Blocks of a try. Four or fewer give an interval many times as wide.
BLOCKS = 5
BUDGET_S = 300.0
QUICK_BUDGET_S = 75.0

# The time before the first trial in seconds: checks, certificates, the cost of primitives.
SETUP_S = 8.0


@dataclass(frozen=True)
class SelftestRequest:
    """The time limit in seconds; `quick`: two slowdowns instead of three."""

    budget_s: float
    command: tuple[str, ...]
    quick: bool = False
    out: Path | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Result:
    """The result, the run folder with its trials, and the place where the result is kept.

    `kept` is None for a run that was cut short, whose figures mean nothing, and without a home
    folder.
    """

    selftest: Selftest
    summary: Summary
    folder: Path
    kept: Path | None
    interrupted: bool


def selftest(request: SelftestRequest, observer: events.Observer) -> Result:
    """Runs the comparisons, judges them, and keeps the result for later runs on this machine.

    Raises UsageError for a budget that is too short, CannotRunError if no try was finished.
    """
    burns = QUICK_BURNS if request.quick else BURNS
    tries = _tries(request.budget_s, cells=2 + len(burns))
    blocks = BLOCKS
    experiment = selftest_experiment(tries * BLOCKS, burns)
    if asked_for():
        experiment, blocks = shortened(experiment, file_kind(experiment)), 1
    done = experiment_run.execute(
        experiment_run.Request(
            experiment, (TARGET,), request.command, request.out, seed=request.seed
        ),
        observer,
    )
    found = judge_selftest(read_contents(RunFolder.open(done.folder)), blocks)
    if not found.by:
        raise CannotRunError(
            f"no try was finished; its trials are in {done.folder}",
            "let it run for longer; `tlslab doctor` says whether this machine is fit to measure",
        )
    kept = None if asked_for() else write_selftest(found)
    return Result(found, done.summary, done.folder, kept, bool(done.early))


def _tries(budget_s: float, cells: int) -> int:
    each = BLOCKS * cells * trial_seconds(WORKLOAD)
    if budget_s < each + SETUP_S:
        raise UsageError(
            f"--budget: the first try takes some {each + SETUP_S:.0f} s",
            "give more, such as --budget 5m",
        )
    return int((budget_s - SETUP_S) / each)


BASELINE = "a"
EQUAL = "b"
NO_BURN = "0%"

# The planted slowdowns.
BURNS = ("2%", "5%", "10%")
QUICK_BURNS = ("5%", "10%")

# All servers burn, also with a share of zero, so that all read the clock equally often.
WORKLOAD = Workload(
    document_bytes=2048,
    connections=16,
    requests_per_connection=1,
    capacity=Window(100, 500),
    client_cost=Window(50, 200),
)


def selftest_experiment(blocks: int, burns: tuple[str, ...] = BURNS) -> Experiment:
    """Comparisons in this number of blocks, with these slowdowns planted."""
    return Experiment(
        name="selftest",
        title="What can this machine tell apart?",
        factors=(
            Factor("copy", (BASELINE, EQUAL)),
            Factor("burn", (NO_BURN, *burns)),
            Factor("tls", ("1.3",)),
            Factor("key", ("ecdsa-p256",)),
            Factor("group", ("X25519",)),
        ),
        baseline={"copy": BASELINE, "burn": NO_BURN},
        workload=WORKLOAD,
        blocks=blocks,
        exclusions=tuple(
            Exclusion({"copy": EQUAL, "burn": burn}, "one copy of the slower servers is enough")
            for burn in burns
        ),
    )
