"""From a run folder to a recommendation: by its measurements, among what the policies allow."""

from dataclasses import replace

from tlslab.advice.field import compared_subject, field_of
from tlslab.advice.policy import Policy
from tlslab.advice.recommend import Aim, Price, Recommendation, decide, measures, rivals
from tlslab.analysis.ranking import rank
from tlslab.analysis.trade_offs import measured_cells, ratio, weigh
from tlslab.lab.kinds import kind_of
from tlslab.lab.results import read_contents
from tlslab.model.errors import UsageError
from tlslab.store import RunFolder

REMEDY = "take a run of groups or of suites: `tlslab run groups --target nginx`"


def recommend(
    folder: RunFolder, aim: Aim, policies: tuple[Policy, ...], server: str
) -> Recommendation | None:
    """The recommendation for a server; None when the run has nothing that may be recommended.

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
    if found is None:
        return None
    measure = found.trade_offs.measure
    keys = {entry.cell for entry in field.entries}
    ranked = rank([cell for cell in cells if cell.summary.key in keys], measure) if measure else ()
    fastest = field.entry(ranked[0].cell.summary.key) if ranked else None
    objected = None if fastest is None or fastest.graded.passes else fastest.cell
    prices = []
    for rival, cell, by in rivals(found, objected):
        against = ratio(cells, found.order[0], cell, by)
        if against is not None:
            prices.append(Price(rival, cell, by, against))
    return replace(found, prices=tuple(prices))
