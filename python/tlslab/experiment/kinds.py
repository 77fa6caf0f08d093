"""The kinds of experiments: what a file of each has beside what all have.

A new kind is a file in this package with its `Kind`, a line in `KINDS`, a dataclass for its
settings in `model`, a line in `lab.run.RUNNERS` and one in `analysis.SUMMARISERS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tlslab.experiment import benchmark
from tlslab.experiment.capacity import read_capacity, write_capacity
from tlslab.experiment.factors import RULES, Rule
from tlslab.experiment.workload import read_workload, write_workload
from tlslab.model.experiment import BENCHMARK, CAPACITY, MATRIX, Experiment
from tlslab.toml_table import Table


@dataclass(frozen=True)
class Kind:
    """How the files of one kind are read and written.

    `tables` are the names at the root of the file that only this kind has; `[quick]` may repeat
    them. `rules` are its factors, in the order of a cell's key. `read` gets the file's root and the
    table with what is read instead (`[quick]`, or the root again) and gives the fields `workload`
    and `settings` of the experiment; `write` gives the lines that it reads back.
    """

    name: str
    tables: tuple[str, ...]
    rules: Mapping[str, Rule]
    read: Callable[[Table, Table], Mapping[str, Any]]
    write: Callable[[Experiment], list[str]]


def _read_matrix(root: Table, changes: Table) -> dict[str, Any]:
    return {"workload": read_workload(root, changes)}


MATRIX_KIND = Kind(
    name=MATRIX,
    tables=("workload",),
    rules=RULES,
    read=_read_matrix,
    write=lambda experiment: write_workload(experiment.workload),
)

CAPACITY_KIND = Kind(
    name=CAPACITY,
    tables=("workload", "capacity"),
    rules=RULES,
    read=read_capacity,
    write=write_capacity,
)

BENCHMARK_KIND = Kind(
    name=BENCHMARK,
    tables=("benchmark", "faults"),
    rules=benchmark.RULES,
    read=benchmark.read,
    write=benchmark.write,
)

KINDS: Mapping[str, Kind] = {
    kind.name: kind for kind in (MATRIX_KIND, CAPACITY_KIND, BENCHMARK_KIND)
}
