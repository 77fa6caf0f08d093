"""The samples of a run in its summary: parts, figures, tables, sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tlslab.analysis.costs.model import CostModel
from tlslab.analysis.costs.summary import calibration
from tlslab.analysis.why.cost_bars import bars, names_of, open_words, tables
from tlslab.analysis.why.effects import effect_checks
from tlslab.analysis.why.flames import PRUNED, flame
from tlslab.analysis.why.rules import NOT_ATTRIBUTED, Rules, load_rules
from tlslab.analysis.why.shares import cell_why
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import SERVER_COST
from tlslab.domain.finding import Finding, Summary, Values
from tlslab.domain.run import RunContents
from tlslab.domain.stacks import CellStacks, CellWhy, EffectCheck, Flame, Why

# More flame graphs would make a page too heavy; with several, frames are pruned sooner.
MOST_FLAMES = 6
_FEW_FLAMES = 2
_PRUNED_SOONER = 0.01

# With more cells, sentences cover the cheapest and the most expensive one.
_SENTENCES = 3
_NAMED_PARTS = 3

# An unattributed share of the cost from here on is mentioned in a sentence.
_MUCH = 0.10

_CODES = {
    "agree": "why_agrees",
    "do_not_agree": "why_disagrees",
    "cannot_tell": "why_cannot_tell",
}

# Samples are lost if the server keeps perf from writing; then the parts may be hit unequally. From
# this share on, a sentence says so.
_MUCH_LOST = 0.01

# A lower bound of the rate does not affect the cost.
_VALID = ("valid", "at_least")

NO_COST = "the cell has no measured cost of the server"
INVALID = "the cell is invalid"
NO_SAMPLES = "perf took no sample of the server"


def explained(summary: Summary, contents: RunContents) -> Summary:
    """The summary with the results of the samples; unchanged if none were requested. Pure."""
    if not contents.stacks:
        return summary
    rules = load_rules()
    order = {cell.key: number for number, cell in enumerate(summary.cells)}
    stacks = sorted(contents.stacks, key=lambda each: order.get(each.cell, len(order)))
    cells, without = [], {}
    for each in stacks:
        found = None if each.reason else _cell(each, summary, rules)
        if found is None:
            without[each.cell] = each.reason or _why_not(each, summary)
        else:
            cells.append(found)
    compared = effect_checks(cells, contents.experiment.baseline, _model(contents))
    why = Why(tuple(cells), without, compared)
    known = {cell.cell for cell in cells}
    sampled = [each for each in stacks if each.cell in known]
    return replace(
        summary,
        why=why,
        flames=_flames(sampled, cells, rules),
        figures=(*summary.figures, *([bars(cells, rules)] if cells else [])),
        tables=(*summary.tables, *tables(cells, compared, rules)),
        findings=(*summary.findings, *_findings(summary, why)),
    )


def _cell(stacks: CellStacks, summary: Summary, rules: Rules) -> CellWhy | None:
    cell = next((each for each in summary.cells if each.key == stacks.cell), None)
    if cell is None or cell.verdict not in _VALID:
        return None
    return cell_why(stacks, cell.estimates, rules)


def _why_not(stacks: CellStacks, summary: Summary) -> str:
    """The reason that the samples of a cell give no parts of its cost."""
    cell = next((each for each in summary.cells if each.key == stacks.cell), None)
    if cell is None:
        return NO_COST
    if SERVER_COST not in cell.estimates:
        return NO_COST
    return NO_SAMPLES if cell.verdict in _VALID else INVALID


def _model(contents: RunContents) -> CostModel | None:
    return None if contents.experiment.design is None else calibration(contents).model


def _flames(
    stacks: Sequence[CellStacks], cells: Sequence[CellWhy], rules: Rules
) -> tuple[Flame, ...]:
    names = names_of(cells)
    pruned = PRUNED if len(stacks) <= _FEW_FLAMES else _PRUNED_SOONER
    return tuple(flame(each, names[each.cell], rules, pruned) for each in stacks[:MOST_FLAMES])


def _findings(summary: Summary, why: Why) -> Iterator[Finding]:
    for reason in dict.fromkeys(why.without.values()):
        cells = tuple(cell for cell, each in why.without.items() if each == reason)
        yield Finding("why_without_samples", values={"cells": len(cells), "reason": reason})
    yield from _lost(why)
    if summary.answer is not None and summary.answer.lacking and summary.answer.lacking.few:
        return  # So few blocks support no sentence.
    names = names_of(why.cells)
    ordered = sorted(why.cells, key=lambda cell: cell.cost.value)
    chosen = ordered if len(ordered) <= _SENTENCES else [ordered[0], ordered[-1]]
    for cell in chosen:
        yield Finding("why", cells=(cell.cell,), values=_parts(cell, names[cell.cell]))
    for cell in why.cells:
        missing = next((p for p in cell.parts if p.name == NOT_ATTRIBUTED), None)
        if missing is not None and missing.estimate.value >= _MUCH * cell.cost.value:
            share = missing.estimate.value / cell.cost.value
            values = {"name": names[cell.cell], "share": share}
            yield Finding("why_not_attributed", cells=(cell.cell,), values=values)
    for each in why.effects:
        if None not in (*_ends(each.effect), *_ends(each.elsewhere)):
            yield Finding(_CODES[each.verdict], cells=each.cells, values=_effect(each))


def _lost(why: Why) -> Iterator[Finding]:
    """The cells for which perf lost a part of the samples."""
    names = names_of(why.cells)
    for cell in why.cells:
        share = cell.lost / (cell.lost + cell.samples)
        if share > _MUCH_LOST:
            values = {"name": names[cell.cell], "share": share, "lost": cell.lost}
            yield Finding("why_lost_samples", cells=(cell.cell,), values=values)


def _parts(cell: CellWhy, name: str) -> Values:
    """The largest parts of a cell's cost."""
    parts = sorted(
        (part for part in cell.parts if part.name != NOT_ATTRIBUTED),
        key=lambda part: -part.estimate.value,
    )[:_NAMED_PARTS]
    return {
        "name": name,
        "cost": cell.cost,
        "parts": {part.name: part.estimate for part in parts},
    }


def _ends(estimate: Estimate) -> tuple[float | None, float | None]:
    return estimate.low, estimate.high


def _effect(each: EffectCheck) -> Values:
    """The extra cost of a level, and whether its part contains it."""
    return {
        "level": each.level,
        "against": each.against,
        "source": each.source,
        "part": each.part,
        "effect": each.effect,
        "sampled": each.sampled,
        "elsewhere": each.elsewhere,
        "family": each.family,
        "open": open_words(each) if each.verdict == "cannot_tell" else "",
    }
