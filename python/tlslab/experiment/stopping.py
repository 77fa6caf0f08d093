"""The table [stopping]: the rule that ends a run in blocks before all of its blocks are done."""

from collections.abc import Mapping

from tlslab.domain.stopping import LEAST_BLOCKS, PILOT_BLOCKS, Answer, Stopping
from tlslab.experiment.writing import toml
from tlslab.toml_table import Table

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
