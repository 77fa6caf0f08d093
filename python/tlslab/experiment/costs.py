"""The kind `costs`: [workload], and [costs] with the combinations of several changes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tlslab.domain.experiment import QUANTITIES, Design, Experiment
from tlslab.domain.factors import FACTORS
from tlslab.domain.workload import NO_WINDOW
from tlslab.experiment.file_kinds import FileKind
from tlslab.experiment.short import with_length
from tlslab.experiment.workload import read_workload, write_workload
from tlslab.toml_table import Table, toml

# Levels that tell the parts of quantities apart.
_APART = {"resumed": ("0%", "100%"), "requests": ("1", "16"), "document_bytes": ("1024", "262144")}

# The factors that a cost model covers.
COSTED = {name: row for name, row in FACTORS.items() if row.costed}


class CostsFile(FileKind):
    """The server's cost of each part of a connection, and the error of their sum."""

    tables = ("workload", "costs")
    factors = COSTED
    always_vary = (*QUANTITIES, "key")
    why_fixed = "the fit of the costs needs every cell in every block"

    def read(self, root: Table, changes: Table) -> Mapping[str, Any]:
        """The workload, whose trials have one run, and the combinations."""
        workload = read_workload(root, changes, windows=False)
        if workload.capacity == NO_WINDOW:
            raise root.table("workload").error("the key 'capacity' is missing")
        table = (changes if "costs" in changes else root).table("costs")
        table.only("more", "held_out")
        design = Design(_combinations(table, "more"), _combinations(table, "held_out"))
        return {"workload": workload, "design": design}

    def write(self, experiment: Experiment) -> list[str]:
        """The tables [workload] and [costs]."""
        design = experiment.design or Design()
        lines = [*write_workload(experiment.workload), "", "[costs]"]
        for name in ("more", "held_out"):
            for each in getattr(design, name):
                lines += ["", f"[[costs.{name}]]"]
                lines += [f"{factor} = {toml(level)}" for factor, level in each.items()]
        return lines

    def with_blocks(self, experiment: Experiment, blocks: int) -> Experiment:
        """The experiment with N passes over all cells."""
        return replace(experiment, blocks=blocks)

    def with_seconds(self, experiment: Experiment, seconds: float) -> Experiment:
        """The experiment with measurements of this length."""
        work = experiment.workload
        work = replace(work, capacity=with_length(work.capacity, round(seconds * 1000)))
        return replace(experiment, workload=work)


def identifying(experiment: Experiment, mix: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The factors that need other levels for the cells to identify a mix's cost; these levels.

    The mix's settings become the centre, and each quantity has at least two levels.
    """
    otherwise = {(only.factor, only.otherwise) for only in experiment.only}
    found = {}
    for name in COSTED:
        levels = known = experiment.levels(name)
        if name in QUANTITIES:
            levels = known if len(known) > 1 else (*known, *_APART[name])
        elif name in mix and (name, mix[name]) not in otherwise:
            levels = (mix[name], *known)
        levels = tuple(dict.fromkeys(levels))
        if levels != known:
            found[name] = levels
    return found


def _combinations(table: Table, name: str) -> tuple[dict[str, str], ...]:
    found = []
    for each in table.tables(name):
        each.only(*COSTED)
        levels = {}
        for factor in each.data:
            level = COSTED[factor].rule.level(each.text(factor))
            if level is None:
                raise each.error(f"unknown name; known: {COSTED[factor].rule.allowed}", factor)
            levels[factor] = level
        found.append(levels)
    return tuple(found)
