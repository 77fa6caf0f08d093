"""Runs in chronological order: the histories they form, and the values of each cell. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tlslab.analysis.judged_estimates import judged_names, left_open
from tlslab.analysis.overlay import WARNING
from tlslab.domain.errors import StoreError
from tlslab.domain.finding import CellSummary, Summary
from tlslab.domain.run import instant, kind_of_machine, machine_words
from tlslab.domain.wording import cell_label


@dataclass(frozen=True)
class Run:
    """A run with its name in the history."""

    name: str
    summary: Summary

    @property
    def began(self) -> datetime:
        """The start of the run. Raises StoreError for a folder whose time cannot be read."""
        text = self.summary.environment.created
        try:
            return instant(text)
        except ValueError:
            message = f"{self.name}: environment.json has no time in 'created': {text!r:.60}"
            raise StoreError(message, "take a whole copy of the folder, or leave it out") from None

    @property
    def machine(self) -> str:
        """The kind of machine, in words."""
        return machine_words(self.summary.environment)


@dataclass(frozen=True)
class EstimateLine:
    """One estimate of one cell over the runs that have it, oldest first.

    `missing_in`: the newest run of the history, if it has the cell without a usable value.
    """

    history: str
    cell: CellSummary
    estimate: str
    unit: str
    runs: tuple[Run, ...]
    values: tuple[float, ...]
    missing_in: str | None

    @property
    def label(self) -> str:
        """The cell in words."""
        return cell_label(self.cell.factors)


def in_order(runs: Sequence[Run]) -> list[Run]:
    """The runs by their start."""
    return sorted(runs, key=lambda run: (run.began, run.name))


def lines(runs: Sequence[Run], across_machines: bool) -> list[EstimateLine]:
    """The series of all cells. `runs` are in order.

    `across_machines` joins runs of unlike machines.
    """
    histories: dict[str, list[Run]] = {}
    for run in runs:
        histories.setdefault(_setting(run, across_machines), []).append(run)
    named = _names(list(histories.values()), across_machines)
    return [
        line
        for name, members in zip(named, histories.values(), strict=True)
        for line in _lines_of(name, members)
    ]


def unlike_machines(runs: Sequence[Run], across_machines: bool) -> tuple[str, ...]:
    """A warning if the runs come from several kinds of machines."""
    machines = list(dict.fromkeys(run.machine for run in runs))
    if len({kind_of_machine(run.summary.environment) for run in runs}) < 2:
        return ()
    if across_machines:
        return (f"The runs come from unlike machines: {'; '.join(machines)}. {WARNING}",)
    return (
        f"The runs come from unlike machines: {'; '.join(machines)}. Each kind has a history of "
        "its own; --across-machines joins them.",
    )


def _setting(run: Run, across_machines: bool) -> str:
    """The common properties of a history's runs: experiment, workload, target, kind of machine."""
    what = run.summary.experiment
    parts = [what.kind, what.name, what.target, _plain(what.workload)]
    machine = () if across_machines else kind_of_machine(run.summary.environment)
    return json.dumps([*parts, machine], default=str)


def _plain(value: object) -> object:
    """A workload as nested lists, in a canonical order."""
    if isinstance(value, Mapping):
        return sorted(
            (str(name), json.dumps(_plain(each), default=str)) for name, each in value.items()
        )
    return value


def _names(histories: Sequence[Sequence[Run]], across_machines: bool) -> list[str]:
    """The experiment and target of each history, with the machine, numbered if they are equal."""
    names: list[str] = []
    for runs in histories:
        what = runs[0].summary.experiment
        name = f"{what.name}, {what.target}"
        if not across_machines:
            name += f", {runs[0].machine}"
        same = sum(each.partition(" #")[0] == name for each in names)
        names.append(f"{name} #{same + 1}" if same else name)
    return names


def _lines_of(name: str, runs: Sequence[Run]) -> Iterator[EstimateLine]:
    """The lines of one history, in the order of the newest plan."""
    cells: dict[tuple[frozenset[tuple[str, str]], str], list[tuple[Run, CellSummary]]] = {}
    for run in reversed(runs):
        for cell in run.summary.cells:
            for estimate in _usable(cell):
                key = (frozenset(cell.factors.items()), estimate)
                cells.setdefault(key, []).append((run, cell))
    last = runs[-1]
    # What the server does not support is a result.
    of_last = {
        frozenset(cell.factors.items())
        for cell in last.summary.cells
        if cell.verdict != "unsupported"
    }
    for (factors, estimate), found in cells.items():
        found.reverse()
        is_missing = factors in of_last and found[-1][0] is not last
        newest = found[-1][1]
        yield EstimateLine(
            history=name,
            cell=newest,
            estimate=estimate,
            unit=newest.estimates[estimate].unit,
            runs=tuple(run for run, _ in found),
            values=tuple(cell.estimates[estimate].value for _, cell in found),
            missing_in=last.name if is_missing else None,
        )


def _usable(cell: CellSummary) -> Iterator[str]:
    """The estimates of a cell that have a history: all by which runs are judged, except bounds."""
    for name in judged_names(cell.estimates):
        if cell.estimates[name].value <= 0:
            continue
        if cell.is_bound(name) or left_open(cell, name) or name in cell.unsaturated:
            continue
        if cell.verdict in ("valid", "at_least"):
            yield name
