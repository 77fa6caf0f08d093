"""From a run folder to a recommendation: by measurements, among levels that policies allow."""

from collections.abc import Sequence
from dataclasses import replace

from tlslab.advice.choice import Aim, Price, Recommendation, decide, measures, rivals
from tlslab.advice.field import compared_subject, field_of
from tlslab.advice.policy import Policy
from tlslab.analysis.compare import Measured
from tlslab.analysis.ranking import rank
from tlslab.analysis.trade_offs import measured_cells, ratios, weigh
from tlslab.lab.kinds import kind_of
from tlslab.lab.results import read_contents
from tlslab.model.errors import UsageError
from tlslab.store import RunFolder

REMEDY = "take a run of groups or of suites: `tlslab run groups --target nginx`"


def recommend(
    folder: RunFolder, aim: Aim, policies: tuple[Policy, ...], server: str
) -> Recommendation | None:
    """The recommendation for a server; None if the run has nothing that may be recommended.

    Raises UsageError for a run that compares neither suites nor groups.
    """
    contents = read_contents(folder)
    experiment = contents.experiment
    side_by_side = kind_of(experiment).presentation.ranked
    subject = compared_subject(experiment) if side_by_side else None
    if subject is None:
        raise UsageError(f"{folder.path}: the run compares neither suites nor groups", REMEDY)
    cells = measured_cells(contents)
    field = field_of(
        subject, [cell.summary for cell in cells], contents.environment, policies, server
    )
    found = decide(field, aim, weigh(cells, field.security, measures(aim, subject)))
    return None if found is None else priced(found, cells)


def priced(found: Recommendation, cells: Sequence[Measured]) -> Recommendation:
    """The recommendation with the choice's ratios to its rivals, judged as one family."""
    measure, chosen = found.trade_offs.measure, found.order[0]
    by_key = {cell.summary.key: cell for cell in cells}
    mates = [by_key[entry.cell] for entry in found.field.entries]
    ranked = rank(mates, measure) if measure else ()
    first = found.field.entry(ranked[0].cell.summary.key) if ranked else None
    wanted = rivals(found, None if first is None or first.graded.passes else first.cell)
    compared = {
        (each.baseline, each.estimate): each
        for each in ratios(cells, [(chosen, cell, by) for _, cell, by in wanted])
    }
    prices = (
        Price(
            rival,
            cell,
            by,
            compared[cell, by],
            leads=first is not None and cell == first.cell and ranked[0].worst == 1,
            is_bound=by_key[cell].is_bound(by),
        )
        for rival, cell, by in wanted
        if (cell, by) in compared
    )
    return replace(found, prices=tuple(prices))
