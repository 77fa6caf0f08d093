"""The trials, with the values measured in each, and the iterations of benchmarks."""

from collections.abc import Mapping
from dataclasses import dataclass

from tlslab.analysis.benchmark.fork_estimates import trial_values as benchmark_values
from tlslab.analysis.frames.frame import Column, Field, Frame, field, make_frame
from tlslab.analysis.frames.rows import trial_fields
from tlslab.analysis.measures import Processors, loading_values, trial_values
from tlslab.domain.benchmark import BenchmarkRun, Iteration
from tlslab.domain.estimates import quantity
from tlslab.domain.run import RunContents
from tlslab.domain.run_faults import run_faults
from tlslab.domain.trial import Trial

# The runs of a capacity experiment with one value per trial; searches and warm-ups are in `runs`.
_MEASURED = ("maximum", "load", "remedy")


@dataclass(frozen=True)
class _Row:
    trial: Trial
    faults: tuple[str, ...]
    values: Mapping[str, float]


def trials(contents: RunContents) -> Frame:
    """A row for each trial, with its values under the names of the estimates in `summary.json`.

    Trials with faults have no values here: the report does not use them either.
    """
    rows = [_row(contents, trial) for trial in contents.trials]
    names = dict.fromkeys(name for row in rows for name in row.values)
    fields: list[Field[_Row]] = [
        *trial_fields(contents.trials),
        field("position", "integer", "", "place in its block", lambda r: r.trial.position),
        field("started", "text", "", "ISO 8601 in UTC", lambda r: r.trial.started),
        field("status", "text", "", "done, unsupported or failed", lambda r: r.trial.status),
        field(
            "reason", "text", "", "why it was not done",
            lambda r: r.trial.reason.message if r.trial.reason else None,
        ),
        field(
            "usable", "truth", "", "whether it was done, without faults",
            lambda r: r.trial.status == "done" and not r.faults,
        ),
        field(
            "faults", "text", "", "codes of what makes it unusable", lambda r: "; ".join(r.faults)
        ),
        *(_value(name) for name in names),
    ]  # fmt: skip
    return make_frame("trials", fields, rows)


def _row(contents: RunContents, trial: Trial) -> _Row:
    faults = tuple(
        f"{kind}: {note.code}"
        for kind, run in trial.runs.items()
        for note in run_faults(kind, run.record)
    )
    usable = trial.status == "done" and not faults
    return _Row(trial, faults, _values(contents, trial) if usable else {})


def _values(contents: RunContents, trial: Trial) -> dict[str, float]:
    if trial.benchmarks:
        return benchmark_values(trial)
    deployments = (c.deployment for c in contents.plan.cells if c.key == trial.cell)
    processors = Processors.of(contents.environment, next(deployments, None))
    values = trial_values(trial, processors, contents.environment.primitives)
    for kind in _MEASURED:
        if (run := trial.runs.get(kind)) is not None:  # type: ignore[call-overload]
            values |= loading_values(run, processors)
    return values


def _value(name: str) -> Field[_Row]:
    row = quantity(name)
    return Field(Column(name, "number", row.unit, row.label), lambda each: each.values.get(name))


@dataclass(frozen=True)
class _Counted:
    trial: Trial
    run: BenchmarkRun
    number: int
    iteration: Iteration


def benchmarks(contents: RunContents) -> Frame:
    """A row for each counted iteration of each process."""
    rows = (
        _Counted(trial, run, number, iteration)
        for trial in contents.trials
        for run in trial.benchmarks.values()
        for number, iteration in enumerate(run.iterations, start=1)
    )
    fields: list[Field[_Counted]] = [
        *trial_fields(contents.trials),
        field("mode", "text", "", "throughput or sample", lambda r: r.run.mode),
        field("program", "text", "", "JMH or the engine, versioned", lambda r: r.run.program),
        field("version", "text", "", "virtual machine or TLS library", lambda r: r.run.runtime),
        field("iteration", "integer", "", "number, from 1", lambda r: r.number),
        field("operations", "integer", "", "of all threads", lambda r: r.iteration.operations),
        field("seconds", "number", "s", "length", lambda r: r.iteration.seconds),
        field("cpu_us", "number", "us", "the benchmark's process", lambda r: r.iteration.cpu_us),
        field(
            "signers_cpu_us", "number", "us", "processes that sign for it elsewhere",
            lambda r: r.iteration.signers_cpu_us,
        ),
    ]  # fmt: skip
    return make_frame("benchmarks", fields, rows)
