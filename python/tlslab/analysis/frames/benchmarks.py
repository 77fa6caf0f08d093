"""The iterations of benchmarks that have no server."""

from dataclasses import dataclass

from tlslab.analysis.frames.rows import trial_fields
from tlslab.domain.benchmark import BenchmarkRun, Iteration
from tlslab.domain.frame import Field, Frame, field, make_frame
from tlslab.domain.run import RunContents
from tlslab.domain.trial import Trial


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
