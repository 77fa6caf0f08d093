"""Load on a fresh server before its first trial: some servers get cheaper while they warm up."""

from collections.abc import Callable

from tlslab.domain.errors import EngineError
from tlslab.domain.events import EngineReport
from tlslab.domain.plan import Cell
from tlslab.lab.specs import run_spec
from tlslab.lab.trial import Bench, run_engine


def warm_up(
    bench: Bench, cell: Cell, length_ms: int, on_report: Callable[[EngineReport], None]
) -> None:
    """Makes new connections of a cell for N milliseconds; failures are reported by the trials."""
    workload = bench.workload.of(cell.factors).warming_up(length_ms)
    spec = run_spec(bench.aim, cell.profile, workload, "capacity")
    try:
        run_engine(bench, spec, on_report)
    except EngineError:
        return
