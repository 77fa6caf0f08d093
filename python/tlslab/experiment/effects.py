"""The kind `effects`: [workload], and [mix] with the connections that weigh what is measured."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tlslab.domain.effects import Mix
from tlslab.domain.experiment import Experiment
from tlslab.domain.factors import COMMON
from tlslab.domain.workload import NO_WINDOW
from tlslab.experiment.file_kinds import FileKind
from tlslab.experiment.short import with_length
from tlslab.experiment.workload import read_workload, write_workload
from tlslab.toml_table import Table, toml


class EffectsFile(FileKind):
    """Each combination of levels in every block."""

    tables = ("workload", "mix")
    factors = COMMON
    always_vary = ("resumed",)
    why_fixed = "an effect needs every cell in every block"

    def read(self, root: Table, changes: Table) -> Mapping[str, Any]:
        """The workload, whose trials load new connections, and open ones if asked; the mix."""
        workload = read_workload(root, changes, windows=False)
        if workload.capacity == NO_WINDOW:
            raise root.table("workload").error("the key 'capacity' is missing")
        return {"workload": workload, "settings": _mix(root)}

    def write(self, experiment: Experiment) -> list[str]:
        """The tables [workload] and [mix]."""
        lines = write_workload(experiment.workload)
        if (mix := experiment.settings) is not None:
            lines += ["", "[mix]", f"resumed = {toml(mix.resumed)}", f"requests = {mix.requests}"]
        return lines

    def with_blocks(self, experiment: Experiment, blocks: int) -> Experiment:
        """The experiment with N passes over all cells."""
        return replace(experiment, blocks=blocks)

    def with_seconds(self, experiment: Experiment, seconds: float) -> Experiment:
        """The experiment with measurements of this length."""
        work, length_ms = experiment.workload, round(seconds * 1000)
        kept = work.keep_alive
        work = replace(
            work,
            capacity=with_length(work.capacity, length_ms),
            keep_alive=kept and replace(kept, window=with_length(kept.window, length_ms)),
        )
        return replace(experiment, workload=work)


def _mix(root: Table) -> Mix | None:
    if "mix" not in root:
        return None
    table = root.table("mix")
    table.only("resumed", "requests")
    return Mix(table.number("resumed", 0, 1), table.integer("requests", 1, 1_000_000))
