"""The parts of all cells as one figure of stacked bars, and as tables."""

from collections.abc import Iterator, Mapping, Sequence

from tlslab.analysis.why.effects import established
from tlslab.analysis.why.rules import Rules
from tlslab.analysis.why.shares import KERNEL_WHOLE, OTHER
from tlslab.domain.figure import DataTable, Figure, Series, TableCell
from tlslab.domain.stacks import CellWhy, CostPart, EffectCheck
from tlslab.domain.wording import cell_label, difference

# Wider tables do not fit a page, a terminal or a pull request.
_COLUMNS = 6

FIGURE = "why"


def part_order(rules: Rules) -> tuple[str, ...]:
    """All possible parts, in the order of a bar; the unattributed part is the last."""
    return (*rules.parts[:-1], KERNEL_WHOLE, OTHER, *rules.parts[-1:])


def names_of(cells: Sequence[CellWhy]) -> dict[str, str]:
    """The name of each cell: the levels in which the cells differ; all levels if they do not."""
    factors = dict.fromkeys(name for cell in cells for name in cell.factors)
    varied = [n for n in factors if len({cell.factors.get(n) for cell in cells}) > 1]
    names = varied or list(factors)
    return {
        cell.cell: cell_label({n: cell.factors[n] for n in names if n in cell.factors})
        for cell in cells
    }


def bars(cells: Sequence[CellWhy], rules: Rules) -> Figure:
    """One bar for each cell, as long as its measured cost."""
    names = names_of(cells)
    found = [_of_part(name, cells, names) for name in part_order(rules)]
    least = min(cell.samples for cell in cells)
    return Figure(
        id=FIGURE,
        title="Why: the server's processor time per connection, by parts",
        caption=(
            "Each bar is the measured cost; its parts are shares of samples of the server's call "
            f"stacks ({least:,} or more for each cell), taken in a run of its own. The "
            "intervals of the single parts are in the numbers below. Not attributed: no rule knows "
            "the stack."
        ),
        kind="stacked_bars",
        x_title="cell",
        y_title="server processor time per connection, µs",
        series=tuple(series for series in found if series is not None),
    )


def _of_part(name: str, cells: Sequence[CellWhy], names: Mapping[str, str]) -> Series | None:
    estimates = [(names[cell.cell], part_of(cell, name)) for cell in cells]
    known = [(place, part.estimate) for place, part in estimates if part is not None]
    if not known:
        return None
    return Series(
        name=name,
        x=tuple(place for place, _ in known),
        y=tuple(estimate.value for _, estimate in known),
        low=tuple(estimate.low for _, estimate in known),
        high=tuple(estimate.high for _, estimate in known),
    )


def part_of(cell: CellWhy, name: str) -> CostPart | None:
    """A cell's part by its name; None if the cell does not have it."""
    return next((part for part in cell.parts if part.name == name), None)


def tables(
    cells: Sequence[CellWhy], effects: Sequence[EffectCheck], rules: Rules
) -> Iterator[DataTable]:
    """The parts, if they fit into a table, and the checks of measured effects."""
    if 0 < len(cells) <= _COLUMNS:
        yield _parts_table(cells, rules)
    if effects:
        yield _effects_table(effects)


def _parts_table(cells: Sequence[CellWhy], rules: Rules) -> DataTable:
    names = names_of(cells)
    rows: list[tuple[TableCell, ...]] = []
    for name in part_order(rules):
        found = [part_of(cell, name) for cell in cells]
        if any(found):
            rows.append((name, *(None if part is None else part.estimate for part in found)))
    rows.append(("measured cost", *(cell.cost for cell in cells)))
    rows.append(("samples", *(cell.samples for cell in cells)))
    rows.append(("cost in the sampled run", *(_rounded(cell.sampled_us) for cell in cells)))
    return DataTable(
        id="why-parts",
        title="Why: parts of the server's processor time per connection",
        caption="In µs. The parts add up to the measured cost. The sampled run is not measured: "
        "perf has a cost of its own.",
        columns=("part", *(names[cell.cell] for cell in cells)),
        rows=tuple(rows),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _effects_table(effects: Sequence[EffectCheck]) -> DataTable:
    family = effects[0].family
    together = "" if family < 2 else f" (95 % for {family} comparisons together)"
    rows = tuple(
        (
            f"{each.level} instead of {each.against}",
            _setting(each),
            each.effect,
            each.part,
            each.sampled,
            each.elsewhere,
            verdict(each),
        )
        for each in effects
    )
    return DataTable(
        id="why-effects",
        title="Why: measured effects beside samples",
        caption=(
            "What a level costs more, in µs, by the cost model where there is one, or else by the "
            "costs of two cells; and how much more the part has that the level changes. They agree "
            f"where the rest is established to be less than a quarter of the effect, and do not "
            f"where it is established to be more than nothing{together}."
        ),
        columns=("change", "of", "effect", "part", "by samples", "rest", "verdict"),
        rows=rows,
    )


def _setting(each: EffectCheck) -> str:
    return f"{each.cells[0]} ({each.source})"


def verdict(each: EffectCheck) -> str:
    """Whether effect and samples agree, in words."""
    if each.verdict == "cannot_tell":
        return f"cannot tell: {open_words(each)}"
    return "agree" if each.verdict == "agree" else "do not agree"


def open_words(each: EffectCheck) -> str:
    """The reason that effect and samples are not established to agree or to differ."""
    if each.elsewhere.low is None or each.elsewhere.high is None:
        return "no interval"
    if not established(each.effect):
        return "the effect may be nothing"
    most = max(-each.elsewhere.low, each.elsewhere.high)
    share = most / abs(each.effect.value)
    part = f"up to {difference(share)}" if share < 1 else "all"
    return f"{part} of the effect may be elsewhere"
