"""The kind `matrix`: [workload] with the windows of a trial's runs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tlslab.experiment.factors import RULES
from tlslab.experiment.kinds import FILE_KINDS, FileKind
from tlslab.experiment.short import with_length
from tlslab.experiment.workload import read_workload, write_workload
from tlslab.model.experiment import MATRIX, Experiment
from tlslab.toml_table import Table


class MatrixFile(FileKind):
    """Every cell is measured in the same way, in randomised blocks."""

    tables = ("workload",)
    rules = RULES

    def read(self, root: Table, changes: Table) -> Mapping[str, Any]:
        """The workload; this kind has no settings."""
        return {"workload": read_workload(root, changes)}

    def write(self, experiment: Experiment) -> list[str]:
        """The table [workload]."""
        return write_workload(experiment.workload)

    def with_blocks(self, experiment: Experiment, blocks: int) -> Experiment:
        """The experiment with N passes over all cells."""
        return replace(experiment, blocks=blocks)

    def with_seconds(self, experiment: Experiment, seconds: float) -> Experiment:
        """All runs of a trial have this length."""
        work = experiment.workload
        length_ms = round(seconds * 1000)
        kept = work.keep_alive
        work = replace(
            work,
            capacity=with_length(work.capacity, length_ms),
            client_cost=with_length(work.client_cost, length_ms),
            keep_alive=kept and replace(kept, window=with_length(kept.window, length_ms)),
        )
        return replace(experiment, workload=work)


FILE_KINDS.register(MATRIX, MatrixFile())
