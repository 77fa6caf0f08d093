"""The kind `matrix`: [workload] with the windows of a trial's runs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from tlslab.domain.experiment import Experiment
from tlslab.domain.factors import COMMON
from tlslab.domain.stopping import LEAST_BLOCKS, PILOT_BLOCKS, Answer, Stopping
from tlslab.experiment.file_kinds import FileKind
from tlslab.experiment.short import asked_for, with_length
from tlslab.experiment.workload import read_workload, write_workload
from tlslab.toml_table import Table, toml

# The precision that `--budget` alone aims at, and the largest number of blocks of `--until` without
# `--blocks`.
DEFAULT_UNTIL = 0.05
MOST_BLOCKS = 50


class MatrixFile(FileKind):
    """Every cell is measured in the same way, in randomised blocks."""

    tables: ClassVar[tuple[str, ...]] = ("workload", "stopping")
    factors = COMMON

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


LIMIT_BLOCKS = 1000

ANSWERS: Mapping[str, Answer] = {"best": "best", "ranking": "ranking"}


def read_stopping(changes: Table) -> Stopping | None:
    """The content of the table; None without the table, when all blocks are run."""
    if "stopping" not in changes:
        return None
    table = changes.table("stopping")
    table.only("until", "answer", "at_least", "budget_s", "pilot")
    return Stopping(
        until=table.number("until", 0.001, 1),
        answer=_answer(table),
        at_least=table.integer("at_least", 3, LIMIT_BLOCKS)
        if "at_least" in table
        else LEAST_BLOCKS,
        pilot=table.integer("pilot", 0, 10) if "pilot" in table else PILOT_BLOCKS,
        budget_s=float(table.integer("budget_s", 1, 7 * 86_400)) if "budget_s" in table else None,
    )


def _answer(table: Table) -> Answer:
    if "answer" not in table:
        return "best"
    given = table.text("answer")
    if given not in ANSWERS:
        raise table.error(f"must be one of {', '.join(ANSWERS)}", "answer")
    return ANSWERS[given]


def write_stopping(stopping: Stopping | None) -> list[str]:
    """The lines from which `read_stopping` restores the rule."""
    if stopping is None:
        return []
    lines = ["", "[stopping]", f"until = {toml(stopping.until)}"]
    lines += [f"answer = {toml(stopping.answer)}", f"at_least = {stopping.at_least}"]
    lines.append(f"pilot = {stopping.pilot}")
    if stopping.budget_s is not None:
        lines.append(f"budget_s = {round(stopping.budget_s)}")
    return lines
