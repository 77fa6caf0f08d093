"""The estimates of one cell from its forks; a failed fork gives a reason, never a value."""

import math
from collections.abc import Mapping, Sequence

from tlslab.analysis.compare import Measured
from tlslab.analysis.stats.estimate import estimate
from tlslab.analysis.stats.machines import Block
from tlslab.domain.benchmark import BenchmarkRun
from tlslab.domain.estimates import (
    OPERATION,
    OPERATION_COST,
    OPERATION_MEAN,
    OPERATIONS,
    SIGNERS_COST,
    in_order,
    quantile,
    quantity,
)
from tlslab.domain.finding import CellSummary, CellVerdict, Note
from tlslab.domain.plan import Cell
from tlslab.domain.trial import Trial

# The estimates of percentiles, by their names in a fork's results.
PERCENTILES = {each: quantile(OPERATION, float(each)) for each in ("50", "90", "99", "99.9")}

# A percentile needs this many samples beyond it: over all forks, and in each fork.
BEYOND_ALL = 8
BEYOND_EACH = 2

# In a closed loop threads = rate x mean time. JMH's sample mode loses the ends of iterations.
LITTLE = 0.15

# The warm-up was too short if later iterations are faster than the first by more than this, or if
# the processor time of an operation changes by more, in either direction: Java's compiler works on
# the general processors.
WARMING = 1.05

# The code shared by both notes on warm-up.
WARMING_UP = "warming_up"


def measure(
    cell: Cell, trials: Sequence[Trial], planned: int, machines: Mapping[int, int]
) -> Measured:
    """A cell's verdict, and its estimates over the forks that gave results.

    `machines`: the machine of each sitting.
    """
    usable = [trial for trial in trials if trial.status == "done" and trial.benchmarks]
    values: dict[str, dict[int, float]] = {}
    for trial in usable:
        for name, value in trial_values(trial).items():
            block = Block(trial.block, machines.get(trial.sitting, 0))
            values.setdefault(name, {})[block] = value
    missing = _unmeasurable(usable)
    estimates = {
        name: estimate(list(values[name].values()), quantity(name).unit)
        for name in in_order(values)
        if name not in missing
    }
    kept = {name: of for name, of in values.items() if name not in missing}
    verdict, reasons = _judge(trials, usable, planned)
    summary = CellSummary(
        key=cell.key,
        factors=dict(cell.factors),
        verdict=verdict,
        reasons=reasons,
        trials=len(usable),
        estimates=estimates,
        not_measurable=missing,
        backend=next((run.runtime for trial in usable for run in trial.benchmarks.values()), None),
    )
    return Measured(summary, kept)


def trial_values(trial: Trial) -> dict[str, float]:
    """One value of each estimate that the trial's forks give."""
    runs = trial.benchmarks
    rated = runs.get("throughput") or runs["sample"]
    found = {OPERATIONS: rated.rate} | _costs(list(runs.values()))
    if (sample := runs.get("sample")) is not None and sample.percentiles_ms:
        found |= {
            name: sample.percentiles_ms[percent]
            for percent, name in PERCENTILES.items()
            if percent in sample.percentiles_ms
        }
        if sample.mean_ms is not None:
            found[OPERATION_MEAN] = sample.mean_ms
    return found


def _costs(runs: Sequence[BenchmarkRun]) -> dict[str, float]:
    """Processor time per operation, over all iterations of all modes."""
    iterations = [iteration for run in runs for iteration in run.iterations]
    operations = sum(iteration.operations for iteration in iterations)
    if not operations:
        return {}
    found = {OPERATION_COST: sum(iteration.cpu_us for iteration in iterations) / operations}
    signed = [i.signers_cpu_us for i in iterations if i.signers_cpu_us is not None]
    if signed and len(signed) == len(iterations):
        found[SIGNERS_COST] = sum(signed) / operations
    return found


def _unmeasurable(trials: Sequence[Trial]) -> dict[str, str]:
    samples = [run.samples for trial in trials if (run := trial.benchmarks.get("sample"))]
    missing = {}
    for percent, name in PERCENTILES.items():
        beyond = 1 - float(percent) / 100
        in_all, in_each = round(BEYOND_ALL / beyond), round(BEYOND_EACH / beyond)
        if samples and (sum(samples) < in_all or min(samples) < in_each):
            missing[name] = (
                f"{sum(samples):,} samples, {min(samples):,} in the fork with the fewest; "
                f"it takes {in_all:,} in all and {in_each:,} in each"
            )
    return missing


def _judge(
    trials: Sequence[Trial], usable: Sequence[Trial], planned: int
) -> tuple[CellVerdict, tuple[Note, ...]]:
    reasons = list(_failures(trials))
    if not usable:
        if any(trial.status == "unsupported" for trial in trials):
            return "unsupported", tuple(reasons)
        none = Note("no_trials", "no fork of this cell was run")
        return ("failed", tuple(reasons)) if trials else ("invalid", (none,))
    if len(trials) < planned and not reasons:
        reasons.append(Note("missing_trials", f"{len(trials)} of {planned} forks were run"))
    reasons += _doubts(usable)
    return "valid", tuple(reasons)


def _failures(trials: Sequence[Trial]) -> list[Note]:
    counted: dict[tuple[str, str], int] = {}
    for trial in trials:
        if trial.reason is not None:
            place = (trial.reason.class_, trial.reason.message)
            counted[place] = counted.get(place, 0) + 1
    return [
        Note(class_, f"{count} of {len(trials)} forks: {message}")
        for (class_, message), count in counted.items()
    ]


def _doubts(usable: Sequence[Trial]) -> list[Note]:
    doubts = []
    closing = [little for trial in usable if (little := _little(trial)) is not None]
    if closing and not 1 - LITTLE <= (mean := sum(closing) / len(closing)) <= 1 + LITTLE:
        text = f"rate x mean time is {mean:.2f} of the threads: the times do not close"
        doubts.append(Note("times_do_not_close", text))
    rises = [rise for trial in usable for run in trial.benchmarks.values() if (rise := _rise(run))]
    if rises and (mean := sum(rises) / len(rises)) > WARMING:
        text = f"the last iterations were {mean - 1:.0%} faster than the first: warm up for longer"
        doubts.append(Note(WARMING_UP, text))
    elif (change := _change_of_cost(usable)) is not None and abs(change) > math.log(WARMING):
        text = f"operations of the last iterations took {math.exp(change):.2f} times the processor"
        doubts.append(Note(WARMING_UP, f"{text} time of the first: warm up for longer"))
    return doubts


def _little(trial: Trial) -> float | None:
    sample = trial.benchmarks.get("sample")
    if sample is None or not sample.mean_ms:
        return None
    return sample.rate * sample.mean_ms / 1000 / sample.threads


def _rise(run: BenchmarkRun) -> float | None:
    """The last counted iteration's rate over the first's; None with fewer than three."""
    return run.per_s[-1] / run.per_s[0] if len(run.per_s) > 2 and run.per_s[0] > 0 else None


def _change_of_cost(usable: Sequence[Trial]) -> float | None:
    """The mean logarithm of the change in processor time per operation during a run.

    The change is that of the last counted iteration over the first. The mean is over all runs with
    three or more iterations; None without such a run.
    """
    found = []
    for trial in usable:
        for run in trial.benchmarks.values():
            if len(run.iterations) < 3 or not all(i.operations for i in run.iterations):
                continue
            first, last = (i.cpu_us / i.operations for i in (run.iterations[0], run.iterations[-1]))
            if min(first, last) > 0:
                found.append(math.log(last / first))
    return sum(found) / len(found) if found else None
