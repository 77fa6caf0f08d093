"""The kind `matrix`: [workload] with the windows of a trial's runs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from tlslab.domain.experiment import Experiment
from tlslab.domain.stopping import Stopping
from tlslab.experiment.factors import RULES
from tlslab.experiment.file_kinds import FileKind
from tlslab.experiment.short import asked_for, with_length
from tlslab.experiment.stopping import read_stopping, write_stopping
from tlslab.experiment.workload import read_workload, write_workload
from tlslab.toml_table import Table

# The precision that `--budget` alone aims at, and the largest number of blocks of `--until` without
# `--blocks`.
DEFAULT_UNTIL = 0.05
MOST_BLOCKS = 50


class MatrixFile(FileKind):
    """Every cell is measured in the same way, in randomised blocks."""

    tables: ClassVar[tuple[str, ...]] = ("workload", "stopping")
    rules = RULES

    def read(self, root: Table, changes: Table) -> Mapping[str, Any]:
        """The workload, and the rule that ends the run; this kind has no settings."""
        return {"workload": read_workload(root, changes), "stopping": read_stopping(changes)}

    def write(self, experiment: Experiment) -> list[str]:
        """The tables [workload] and [stopping]."""
        return write_workload(experiment.workload) + write_stopping(experiment.stopping)

    def with_blocks(self, experiment: Experiment, blocks: int) -> Experiment:
        """The experiment with N passes over all cells, whatever their results."""
        return replace(experiment, blocks=blocks, stopping=None)

    def with_stopping(
        self, experiment: Experiment, until: float | None, budget_s: float | None
    ) -> Experiment:
        """The experiment with an end when no comparison is open; `until` as in `Stopping`."""
        rule = experiment.stopping or Stopping(DEFAULT_UNTIL)
        rule = replace(rule, until=rule.until if until is None else until, budget_s=budget_s)
        blocks = experiment.blocks if asked_for() else max(experiment.blocks, MOST_BLOCKS)
        return replace(experiment, stopping=rule, blocks=blocks)

    def with_seconds(self, experiment: Experiment, seconds: float) -> Experiment:
        """The experiment with runs of this length."""
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
