"""What a reader must know beside the numbers: warnings, what has no result, what was left out."""

from dataclasses import dataclass

from tlslab.domain.experiment import is_ranked
from tlslab.domain.finding import CellSummary, Note, Summary
from tlslab.domain.leading import answering, lead
from tlslab.domain.wording import cell_label, counted

# The verdicts of cells in words.
VERDICTS = {
    "valid": "valid",
    "at_least": "lower bound",
    "invalid": "invalid",
    "unsupported": "unsupported",
    "failed": "failed",
}

# The most cells that a warning names.
_NAMED = 3

# Warnings of cells by what they do to the numbers: those that nobody may use come first.
_GRAVITY = {"failed": 0, "invalid": 1, "at_least": 3, "valid": 4, "unsupported": 5}

# What the machine may have done to them stands between.
_OF_THE_RUN = 2

# What a cell's numbers are not worse for, and its other measurements.
_BESIDE = ("fallback", "neither_saturated", "refill", "repeated", "start_skew", "steal", "warm_up")
_OTHER_RUNS = ("client_cost", "keep_alive")

# Two measurements of the same thing that do not agree.
_DISAGREEMENTS = ("littles_law", "server_cost_disagrees", "why_disagrees")


@dataclass(frozen=True)
class Caution:
    """A statement, and the cells that it is about; none when it is about the whole run.

    The figures in it are those of the first of the cells; `total` is the number of all cells.
    `decides`: it changes the answer: a cell has no usable result, what leads is a lower bound, or
    two measurements disagree.
    """

    message: str
    cells: tuple[str, ...]
    total: int = 0
    decides: bool = False

    @property
    def briefly(self) -> str:
        """The cells in words: `all 20 cells`, or the first one and how many others."""
        first, *others = self.cells
        if others and len(self.cells) == self.total:
            return f"all {self.total} cells"
        return first + (f" and {counted(len(others), 'other cell')}" if others else "")

    @property
    def about(self) -> str:
        """The cells in words: `all 20 cells`, or how many, with the names of the first few."""
        first, *others = self.cells
        if others and len(self.cells) == self.total:
            return f"all {self.total} cells; the figures are those of {first}"
        if len(others) < _NAMED:
            return first + (f"; likewise: {'; '.join(others)}" if others else "")
        named = "; ".join(self.cells[:_NAMED])
        return f"{len(self.cells)} of {self.total} cells: {named}; and {len(others) - 2} more"


def warnings(summary: Summary) -> tuple[Caution, ...]:
    """Everything that the reader must know, alike statements together, the gravest first."""
    ranked = is_ranked(summary.experiment.kind)
    reported = [(_OF_THE_RUN, Caution(text, ())) for text in summary.environment.warnings]
    if ranked:
        reported += [
            (_OF_THE_RUN, Caution(f.text, (), decides=f.code in _DISAGREEMENTS))
            for f in summary.findings
            if not f.cells
        ]
    by_code: dict[str, tuple[Note, list[CellSummary]]] = {}
    elsewhere = {"unsupported"} if ranked else {"unsupported", "invalid", "failed"}
    for cell in summary.cells:
        for reason in cell.reasons:
            if cell.verdict not in elsewhere:
                _, cells = by_code.setdefault(reason.code, (reason, []))
                cells.append(cell)
    leaders = _leaders(summary)
    for note, cells in by_code.values():
        names = tuple(cell_label(cell.factors) for cell in cells)
        gravity = min(_GRAVITY[cell.verdict] for cell in cells)
        bounds = any(cell.verdict == "at_least" and cell.key in leaders for cell in cells)
        beside = note.code in _BESIDE or note.of in _OTHER_RUNS
        worse = (gravity < _OF_THE_RUN or bounds) and not beside
        decides = worse or note.code in _DISAGREEMENTS
        reported.append((gravity, Caution(note.message, names, len(summary.cells), decides)))
    return tuple(caution for _, caution in sorted(reported, key=lambda each: each[0]))


def _leaders(summary: Summary) -> set[str]:
    """The keys of the cells that the answer is about: those that lead its ranking, or all."""
    ranking = answering(summary)
    leading = None if ranking is None else lead(ranking)
    if leading is None:
        return {cell.key for cell in summary.cells}
    return {leading.first, *leading.tied}


def deciding(summary: Summary) -> tuple[tuple[str, ...], int]:
    """The warnings that change the answer, the gravest first, and the number of all."""
    every = (*_unusable(summary), *warnings(summary))
    named = [each for each in every if each.decides]
    lines = (f"{each.briefly}: {each.message}" if each.cells else each.message for each in named)
    return tuple(lines), len(every)


def _unusable(summary: Summary) -> list[Caution]:
    """The cells of `without_result`, those with the same first reason together."""
    if is_ranked(summary.experiment.kind):
        return []
    by_code: dict[str, tuple[str, list[str]]] = {}
    for cell in summary.cells:
        if cell.verdict in ("invalid", "failed"):
            code, message = next(((r.code, r.message) for r in cell.reasons), ("", ""))
            text = f"{VERDICTS[cell.verdict]}: {message}"
            _, names = by_code.setdefault(code, (text, []))
            names.append(cell_label(cell.factors))
    total = len(summary.cells)
    return [Caution(text, tuple(names), total, True) for text, names in by_code.values()]


def without_result(summary: Summary) -> tuple[tuple[str, str, str], ...]:
    """Cells without a valid result that no section shows: label, verdict, reasons."""
    if is_ranked(summary.experiment.kind):
        return ()
    return tuple(
        (
            cell_label(cell.factors),
            VERDICTS[cell.verdict],
            "; ".join(reason.message for reason in cell.reasons),
        )
        for cell in summary.cells
        if cell.verdict in ("invalid", "failed")
    )


def left_out(summary: Summary) -> tuple[tuple[str, str], ...]:
    """Combinations that were not tried, or that the server does not support: what and why."""
    excluded = [(cell_label(each.factors), each.reason) for each in summary.excluded]
    unsupported = [
        (cell_label(cell.factors), "; ".join(reason.message for reason in cell.reasons))
        for cell in summary.cells
        if cell.verdict == "unsupported"
    ]
    return (*excluded, *unsupported)
