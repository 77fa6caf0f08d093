"""The files of each kind of experiment, and the changes that options make to them.

`kinds` has the `FileKind` of each.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import EXAMPLES, MATRIX, Experiment
from tlslab.domain.factors import FactorRow
from tlslab.toml_table import Table


class FileKind(ABC):
    """Reading, writing and changing of the files of one kind.

    `tables`: the names at the root of the file that only this kind has; `[quick]` may repeat them.
    `factors`: the rows of its factors, in the order of a cell's key. `has_server`: its cells are
    run against a server. `finds_jdks`: it looks for Java installations itself. `always_vary`:
    factors that vary in shortened runs, too (experiment.short). `why_fixed`: the reason that a run
    of this kind does not end before its plan is done; empty if it may.
    """

    tables: ClassVar[tuple[str, ...]]
    factors: ClassVar[Mapping[str, FactorRow]]
    has_server: ClassVar[bool] = True
    finds_jdks: ClassVar[bool] = False
    always_vary: ClassVar[tuple[str, ...]] = ()
    why_fixed: ClassVar[str] = ""

    @abstractmethod
    def read(self, root: Table, changes: Table) -> Mapping[str, Any]:
        """The fields `workload` and `settings` of the experiment.

        `changes` is the table whose values take precedence: `[quick]`, or the root again.
        """

    @abstractmethod
    def write(self, experiment: Experiment) -> list[str]:
        """The lines from which `read` restores the experiment."""

    def commands(self, experiment: Experiment) -> tuple[str, ...]:
        """The user's commands that a run of the experiment would start on this machine."""
        return ()

    def server(self, experiment: Experiment) -> str | None:
        """The one server that the experiment itself names; None if it names none."""
        return None

    def shortened(self, settings: Any) -> Any:
        """The settings for a run that only shows that a command works."""
        return settings

    @abstractmethod
    def with_blocks(self, experiment: Experiment, blocks: int) -> Experiment:
        """The experiment with each measurement repeated N times."""

    @abstractmethod
    def with_seconds(self, experiment: Experiment, seconds: float) -> Experiment:
        """The experiment with measurements of this length; warm-ups and searches stay."""

    def with_stopping(
        self, experiment: Experiment, until: float | None, budget_s: float | None
    ) -> Experiment:
        """The experiment with an end: when its answer is known to within `until`, or by a time.

        Kinds with a fixed plan are unchanged: the budget sets the number of their blocks before the
        run (lab.budget). For these kinds, `until` raises UsageError.
        """
        if until is not None:
            raise UsageError(
                f"--until is for experiments that compare cells ({EXAMPLES[MATRIX]}): "
                f"{self.why_fixed}",
                "give --budget TIME, or --blocks N",
            )
        return experiment

    def briefly_within(self, experiment: Experiment) -> Experiment:
        """The part of a quick run that answers an objective; unchanged where there is none."""
        return experiment

    def with_objective(
        self, experiment: Experiment, objective: str | None, allow_obsolete: bool
    ) -> Experiment:
        """The experiment with another objective, and with its obsolete cell only if allowed.

        Raises UsageError if the kind has neither.
        """
        if objective is not None or allow_obsolete:
            raise UsageError(
                "--objective and --allow-obsolete are for capacity experiments", "leave them out"
            )
        return experiment
