"""From a run to its recommendations: by measurements, among levels that policies allow.

The report and `tlslab recommend` quote the same objects.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tlslab.advice.choice import (
    Aim,
    Field,
    Price,
    Recommendation,
    compared_subject,
    decide,
    field_of,
    measures,
    rivals,
    terminator,
)
from tlslab.advice.emit import REPORTED
from tlslab.advice.policy import Policy, policies
from tlslab.advice.setting_grade import Subject
from tlslab.analysis.compare import Measured
from tlslab.analysis.ranking import rank
from tlslab.analysis.trade_offs import measured_cells, ratios, weigh
from tlslab.domain.experiment import is_ranked
from tlslab.domain.run import RunContents


def subject_of_run(contents: RunContents) -> Subject | None:
    """The subject of a recommendation; None if the run compares neither suites nor groups."""
    if not is_ranked(contents.experiment.kind):
        return None
    return compared_subject({each.name: each.levels for each in contents.experiment.factors})


def recommendations(
    contents: RunContents,
    aim: Aim = "throughput",
    by: tuple[Policy, ...] | None = None,
    servers: Iterable[str] | None = None,
) -> dict[str, Recommendation]:
    """The recommendation for each of these servers; those for which there is none are absent.

    By default for the servers that were measured and those of REPORTED, by all policies.
    """
    subject = subject_of_run(contents)
    if subject is None:
        return {}
    cells = measured_cells(contents)
    summaries = [cell.summary for cell in cells]
    target, http = contents.environment.target.name, contents.experiment.workload.http
    if servers is None:
        measured = (terminator(each.factors, target) for each in summaries)
        servers = dict.fromkeys((*measured, *REPORTED))
    found: dict[str, Recommendation] = {}
    # Servers share a setting's recommendation, which takes long to compute.
    known: dict[tuple[tuple[str, str], ...], Recommendation | None] = {}
    for server in servers:
        field = field_of(subject, summaries, contents.environment, by or policies(), server, http)
        setting = tuple(field.setting.items())
        if setting not in known:
            known[setting] = _decided(field, aim, cells)
        decided = known[setting]
        if decided is not None:
            found[server] = decided
    return found


def _decided(field: Field, aim: Aim, cells: Sequence[Measured]) -> Recommendation | None:
    found = decide(field, aim, weigh(cells, field.security, measures(aim, field)))
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
