"""A history in sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tlslab.domain.estimates import PER_SECOND, estimate_name, unit_shown
from tlslab.domain.finding import Summary
from tlslab.domain.history import CellHistory, EstimateChange, History, missing
from tlslab.domain.wording import counted, difference, few, figure, joined
from tlslab.words.load import load_words
from tlslab.words.numbers import NO_INTERVAL, interval

# The headline names at most three changes; the others are below.
_NAMED = 3

NOISE = (
    "At most one history of twenty has a false change, if runs differ by independent noise. A "
    "machine that drifts, or is slow for several runs in a row, gives changes too: measure the old "
    "version again before you blame the new one."
)


@dataclass(frozen=True)
class CellChanges:
    """The changes of one cell of one history: the series of its changed estimates."""

    history: str
    label: str
    series: tuple[CellHistory, ...]


def changed_cells(found: History) -> tuple[CellChanges, ...]:
    """The cells with a change in any estimate: slowdowns in force first, then open ones."""
    cells: dict[tuple[str, str], list[CellHistory]] = {}
    for each in found.cells:
        cells.setdefault((each.history, each.cell), []).append(each)
    changed = [
        CellChanges(history, series[0].label, tuple(each for each in series if each.changes))
        for (history, _), series in cells.items()
        if any(each.changes for each in series)
    ]
    return tuple(sorted(changed, key=_gravity))


def _gravity(cell: CellChanges) -> int:
    if any(map(_is_slower, cell.series)):
        return 0
    changes = (change for series in cell.series for change in series.changes)
    return 1 if any(change.in_force is None for change in changes) else 2


def _is_slower(series: CellHistory) -> bool:
    """Whether a slowdown of the series is in force."""
    return any(change.verdict == "slower" and change.in_force for change in series.changes)


def unchanged(found: History) -> tuple[CellHistory, ...]:
    """The series without a change, judged or not."""
    return tuple(each for each in found.cells if not each.changes)


def judged_cells(found: History) -> int:
    """The number of cells that have enough runs in at least one estimate."""
    return len({(each.history, each.cell) for each in found.cells if each.judged})


def unit_words(unit: str) -> str:
    """A unit to follow a figure; empty for rates, whose names contain it."""
    return "" if unit == PER_SECOND else unit_shown(unit)[0]


def headline(found: History) -> str:
    """The result of the history, in a sentence or two."""
    total = judged_cells(found)
    if not found.cells:
        return "No cell has a usable value in any of the runs."
    if not total:
        return (
            f"Too few runs: a change needs {found.least_runs} usable runs of a cell, and no cell "
            "has as many."
        )
    cells, without = changed_cells(found), _without(found)
    if not cells:
        none = f"No change was found in {counted(total, 'cell')}. {could_have_found(found)}"
        return f"{none} {without}".rstrip()
    changed = [cell for cell in cells if _established(cell)]
    parts = []
    if changed:
        parts.append(f"{len(changed)} of {counted(total, 'cell')} changed: {_listed(changed)}.")
    if opened := [cell for cell in cells if cell not in changed]:
        which = f"{len(opened)} of {counted(total, 'cell')}"
        parts.append(f"{which} may have changed (cannot tell yet): {_listed(opened)}.")
    return " ".join(filter(None, [*parts, without]))


def _without(found: History) -> str:
    """A sentence for each newest run that did not measure cells; or nothing."""
    by_run: dict[str, list[str]] = {}
    for each in missing(found.cells):
        by_run.setdefault(str(each.missing_in), []).append(each.label)
    return " ".join(
        f"The newest run, {run}, has no usable value of {few(labels, _NAMED, _NAMED, 'more cell')}."
        for run, labels in by_run.items()
    )


def _established(cell: CellChanges) -> list[tuple[CellHistory, EstimateChange]]:
    """The changes of a cell whose interval excludes the absence of a change."""
    return [each for each in _changes(cell) if each[1].verdict != "cannot_tell"]


def _changes(cell: CellChanges) -> list[tuple[CellHistory, EstimateChange]]:
    return [(series, change) for series in cell.series for change in series.changes]


def _listed(cells: Sequence[CellChanges]) -> str:
    """The first of these cells in words, and the number of the others."""
    more = len(cells) - _NAMED
    named = [_short(cell) for cell in cells[:_NAMED]]
    return "; ".join([*named, *([f"and {counted(more, 'more cell')}"] if more > 0 else [])])


def could_have_found(found: History) -> str:
    """The smallest lasting steps that the judged series would have shown."""
    steps = sorted(_step(found, each) for each in found.cells if each.judged)
    if not steps:
        return ""
    low, high = difference(steps[0]), difference(steps[-1])
    size = f"of {low}" if low == high else f"of {low} to {high}, depending on the cell,"
    return (
        f"A lasting step {size} in the middle of these runs would have been found nine times of "
        "ten."
    )


def _step(found: History, series: CellHistory) -> float:
    """The step that a judged series would show, as a share; at least the smallest that counts.

    Bytes may be equal in all runs: then any step shows.
    """
    return max(series.findable or 0.0, found.smallest)


def _short(cell: CellChanges) -> str:
    """The newest change of the first estimate with a change; established ones first.

    Among several estimates with an established change, one that is slower comes first.
    """
    found = _established(cell) or _changes(cell)
    found = [each for each in found if _is_slower(each[0])] or found
    series, change = [each for each in found if each[0] is found[0][0]][-1]
    since = "" if series.changes[-1] is change else ", perhaps with another since"
    what = f"{cell.label}: {estimate_name(series.estimate)}"
    return f"{what} {size(change)} from {change.after} on{since}"


def size(change: EstimateChange) -> str:
    """The change in percent, with its interval: `-8.1 % (95 %: -10.2 to -6.0 %)`."""
    if change.low is None or change.high is None:
        return f"{_signed(change.ratio)} % ({NO_INTERVAL})"
    return f"{_signed(change.ratio)} %{interval(change.low, change.high, _signed, ' %')}"


def _signed(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f}"


def verdict_words(change: EstimateChange) -> str:
    """The kind of the change, and whether it is still in force."""
    if change.verdict == "cannot_tell":
        if change.low is None:
            return "cannot tell yet: one run on a side has no interval"
        return "cannot tell yet: the interval holds 0"
    now = {
        True: "in force at the newest run",
        False: "not established at the newest run any more",
        None: "whether it is in force cannot be said: the newest level has one run",
    }[change.in_force]
    return f"{change.verdict}, {now}"


def between(found: History, change: EstimateChange) -> str:
    """The runs around the change, with their times."""
    runs = [found.run(name) for name in (change.before, change.after)]
    first, second = (f"{run.name} ({moment(run.began)})" for run in runs)
    return f"between {first} and {second}; {counted(change.n_before, 'run')} before it, " + (
        f"{change.n_after} after it"
    )


def moment(began: str) -> str:
    """A time to the minute: `2026-03-14 09:26`."""
    return began[:16].replace("T", " ")


def facts_words(change: EstimateChange) -> str:
    """Other differences between the two runs, as facts; a sentence if none are known."""
    if not change.facts:
        return "No fact of the environment differs between these two runs."
    parts = [f"{each.fact} {each.before} -> {each.after}" for each in change.facts]
    return f"What else differs between these two runs (facts, not causes): {'; '.join(parts)}."


def quiet(found: History, series: CellHistory) -> str:
    """The changes that a series without a change leaves open."""
    if series.findable is None:
        return f"not judged, {len(series.values)} of at least {found.least_runs} runs"
    step = difference(_step(found, series))
    return f"a lasting step of {step} in the middle would have been found nine times of ten"


def levels_words(series: CellHistory) -> str:
    """The levels of a series, oldest first."""
    return joined([figure(level.value) for level in series.levels])


def runs_words(found: History) -> str:
    """The number of runs, and their period."""
    count = counted(len(found.runs), "run")
    if not found.runs:
        return count
    first, last = (moment(run.began) for run in (found.runs[0], found.runs[-1]))
    return f"{count} from {first} to {last} (UTC), in the order in which they began."


def with_loads(found: History, of: Mapping[str, Summary]) -> History:
    """The history with the load of each run in words; `of`: the summaries by the runs' names."""
    runs = tuple(replace(run, load=load_words(of[run.name])) for run in found.runs)
    return replace(found, runs=runs)


def loads_words(found: History) -> str:
    """What the connections of the runs carried; of several loads that of the newest run."""
    loads = list(dict.fromkeys(run.load for run in reversed(found.runs) if run.load))
    if len(loads) < 2:
        return "".join(loads)
    return f"{counted(len(loads), 'load')}; of the newest run: {loads[0].removeprefix('Load: ')}"


def reason(found: History) -> str:
    """The reason for the command's exit code."""
    changes: Sequence[tuple[CellHistory, EstimateChange]] = [
        (series, change) for series in found.cells for change in series.changes
    ]
    slower = {
        (series.history, series.cell)
        for series, change in changes
        if change.verdict == "slower" and change.in_force
    }
    if found.verdict == "slower":
        return f"{counted(len(slower), 'cell')} slower, in force at the newest run"
    if found.verdict == "cannot_tell":
        if not judged_cells(found):
            return f"cannot tell: fewer than {found.least_runs} usable runs of each cell"
        if without := missing(found.cells):
            cells = counted(len(without), "cell")
            return f"cannot tell: the newest run has no usable value of {cells}"
        return "cannot tell whether a slowdown is in force: more runs decide it"
    return "no slowdown found that is in force at the newest run"
