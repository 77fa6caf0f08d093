"""A whole run of an experiment: the kind of the experiment says how."""

from collections.abc import Callable, Mapping

from tlslab.lab import events
from tlslab.lab.benchmark.run import run_benchmarks
from tlslab.lab.blocks import run_cells
from tlslab.lab.capacity.run import run_capacity
from tlslab.lab.request import Request, Result
from tlslab.lab.results import read_contents, summarise
from tlslab.lab.trial import run_trial
from tlslab.model.experiment import BENCHMARK, CAPACITY, MATRIX
from tlslab.model.workload import Workload

__all__ = ["RUNNERS", "Request", "Result", "execute", "read_contents", "summarise"]

# Beside its windows each run of a trial starts the engine, connects, drains and writes.
RUN_OVERHEAD_S = 0.2


def run_matrix(request: Request, observer: events.Observer) -> Result:
    """The kind `matrix`: each trial is a cell's runs of fixed length."""
    return run_cells(request, observer, run_trial, matrix_seconds(request.experiment.workload))


def matrix_seconds(workload: Workload) -> float:
    """The length of a trial, in seconds."""
    runs = 3 if workload.keep_alive else 2
    return workload.trial_seconds + runs * RUN_OVERHEAD_S


# How an experiment of each kind is run. A new kind is a file in this package and a line here.
RUNNERS: Mapping[str, Callable[[Request, events.Observer], Result]] = {
    MATRIX: run_matrix,
    CAPACITY: run_capacity,
    BENCHMARK: run_benchmarks,
}


def execute(request: Request, observer: events.Observer) -> Result:
    """Runs an experiment, or what is missing of one.

    Ends early, with the results so far, on KeyboardInterrupt. Raises UsageError, CannotRunError.
    """
    return RUNNERS[request.experiment.kind](request, observer)
