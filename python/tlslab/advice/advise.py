"""Advice joined to a summary: objections, grades, the recommendation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tlslab.advice.choice import Recommendation, compared_subject, graded, terminator
from tlslab.advice.policy import GRADES, Policy, policies
from tlslab.advice.proof_verdict import proved
from tlslab.advice.setting_grade import Graded, Subject, grade_group, grade_suite
from tlslab.domain.estimates import OPEN_REQUESTS
from tlslab.domain.factors import dh_size
from tlslab.domain.figure import DataTable, Figure, Series
from tlslab.domain.finding import Answer, CellSummary, Finding, Lacking, Ranking, Statement, Summary
from tlslab.domain.leading import answering, lead, led, tiles
from tlslab.domain.setting import RANKED_FIGURES, figure_id, settings_of
from tlslab.domain.wording import level_label, setting_of, short_label

# The statements of an answer on leaders by other rankings than its own.
_ON_LEADERS = ("leads_elsewhere", "leads_kept_open", "others_lead_elsewhere")


def advised(
    summary: Summary,
    recommended: Mapping[str, Recommendation] | None = None,
    by: Sequence[Policy] | None = None,
) -> Summary:
    """The summary with its advice; unchanged if there is nothing to choose.

    `recommended`: the recommendations for servers by their names; the summary quotes those for the
    servers that were measured. `by`: the policies that count; all by default.
    """
    if summary.proof is not None:
        return proved(summary)
    subject = compared_subject(summary.experiment.factors) if summary.rankings else None
    if subject is None:
        return summary
    against = _objections(summary, subject, by)
    few = summary.answer is not None and summary.answer.lacking and summary.answer.lacking.few
    # Too few blocks give no order that supports a sentence or a configuration.
    quotable = {} if few or recommended is None else recommended
    own = {
        each.field.server: each for server, each in quotable.items() if each.field.server == server
    }
    return replace(
        summary,
        answer=_answer(summary, against, own),
        figures=_with_objections(summary, against),
        tables=(*summary.tables, *_tables(summary, subject)),
        findings=(*summary.findings, *map(_finding, own.values())),
        recommendation=_recommendation(own.values()) if own else summary.recommendation,
    )


def _objections(summary: Summary, subject: Subject, by: Sequence[Policy] | None) -> dict[str, str]:
    """The objections of policies to each cell, by its key; empty strings for none."""
    http = summary.experiment.workload.get("http")
    return {cell.key: graded(subject, cell.factors, http, by).objection for cell in summary.cells}


def _answer(
    summary: Summary, against: Mapping[str, str], own: Mapping[str, Recommendation]
) -> Answer | None:
    """The answer of the summary, or the recommendation if policies object to one that leads.

    An answer whose first cell is not the recommended one ends with the recommendation.
    """
    answer = summary.answer
    ranking = answering(summary)
    leading = None if ranking is None else lead(ranking)
    if answer is None or answer.lacking is not None or ranking is None or leading is None:
        return answer
    first = summary.cell(leading.first)
    quoted_here = own.get(terminator(first.factors, summary.environment.target.name))
    if _objected(ranking, against):
        return _recommended(summary, answer, quoted_here, ranking, against)
    said, *more = answer.statements
    names_leaders = any(each.code in _ON_LEADERS for each in more)
    if names_leaders and _leads_elsewhere(summary, ranking, against):
        more = []
    if quoted_here and first.factors[quoted_here.field.subject] != quoted_here.chosen.name:
        measure = quoted_here.trade_offs.measure if quoted_here.trade_offs.decided else ""
        values = {"server": quoted_here.field.server, "measure": measure,
                  "name": quoted_here.chosen.short}  # fmt: skip
        more.append(Statement("recommendation", values))
    return replace(answer, statements=(said, *more))


def _objected(ranking: Ranking, against: Mapping[str, str]) -> list[str]:
    """The leading cells of a ranking that policies object to."""
    leading = lead(ranking)
    leaders = () if leading is None else (leading.first, *leading.tied)
    return [key for key in leaders if against[key]]


def _leads_elsewhere(summary: Summary, ranking: Ranking, against: Mapping[str, str]) -> bool:
    """Whether policies object to a leader by requests, or to one of another setting."""
    others = [s for s in _settings(summary) if s != ranking.setting]
    leaders = [found.lead for s in others if (found := led(summary.rankings, s))]
    for other in summary.rankings:
        if other.setting == ranking.setting and other.estimate == OPEN_REQUESTS:
            leaders += filter(None, [lead(other)])
    return any(against[key] for each in leaders for key in (each.first, *each.tied))


def _recommended(
    summary: Summary,
    answer: Answer,
    quotable: Recommendation | None,
    ranking: Ranking,
    against: Mapping[str, str],
) -> Answer:
    """The recommendation as the answer, in place of one that policies object to.

    `against`: what they object to, by cell: they object to leaders of the ranking.
    """
    if quotable is None or not quotable.trade_offs.decided:
        choice = None if quotable is None else quotable.choice
        lacking = Lacking(code="policies_object", values={"choice": choice})
        return replace(answer, statements=(), sentences=(), lacking=lacking, tiles=())
    first, *others = _objected(ranking, against)
    price = {
        "choice": quotable.choice,
        "estimate": ranking.estimate,
        "leader": first,
        "objection": against[first],
        "others": len(others),
    }
    chosen = summary.cell(quotable.chosen.cell)
    number = 1 + _settings(summary).index(setting_of(chosen.factors, summary.experiment.baseline))
    shown = figure_id(number, RANKED_FIGURES.get(quotable.trade_offs.measure, ""))
    return replace(
        answer,
        statements=(
            Statement("recommendation", {"choice": quotable.choice, "with_price": False}),
            Statement("price", price),
        ),
        certainty=Statement("blocks_of_candidates", {"blocks": quotable.trade_offs.blocks}),
        tiles=tiles(chosen),
        figure=shown if any(each.id == shown for each in summary.figures) else answer.figure,
    )


def _settings(summary: Summary) -> list[dict[str, str]]:
    return settings_of((cell.factors for cell in summary.cells), summary.experiment.baseline)


def _with_objections(summary: Summary, against: Mapping[str, str]) -> tuple[Figure, ...]:
    """The figures; rankings of settings show the objections of policies."""
    baseline = summary.experiment.baseline
    by_figure: dict[str, dict[str, str]] = {}
    for number, setting in enumerate(_settings(summary), start=1):
        named = {
            _name(cell, baseline): against[cell.key]
            for cell in summary.cells
            if setting_of(cell.factors, baseline) == setting
        }
        by_figure |= {figure_id(number, what): named for what in RANKED_FIGURES.values()}

    def objected(series: Series, named: Mapping[str, str]) -> Series:
        return replace(series, objections=tuple(named.get(str(place), "") for place in series.x))

    return tuple(
        replace(
            figure, series=tuple(objected(each, by_figure[figure.id]) for each in figure.series)
        )
        if figure.id in by_figure
        else figure
        for figure in summary.figures
    )


def _name(cell: CellSummary, baseline: Mapping[str, str]) -> str:
    return short_label({name: cell.factors[name] for name in baseline if name in cell.factors})


def _tables(summary: Summary, subject: Subject) -> tuple[DataTable, DataTable]:
    """Each policy's grades of the levels; and the policies, with their reasons."""
    graded_levels = _graded_levels(summary, subject)
    plural = "cipher suites" if subject == "suite" else "key-exchange groups"
    grades = DataTable(
        id="security",
        title=f"Security of the {plural}",
        caption=(
            "What one policy discourages or forbids is not recommended here, however fast it is. "
            "-: the policy does not speak of it."
        ),
        columns=("", "recommended", *(policy.title for policy in policies())),
        rows=tuple(
            (label, "yes" if each.passes else "no", *(_opinion(each, p) for p in policies()))
            for each, label in graded_levels
        ),
    )
    reasons = DataTable(
        id="policies",
        title="The policies and their reasons",
        caption="Each is a data file with its date and source.",
        columns=("policy", "date", "grade", "reason", "source"),
        rows=tuple(_reasons(each for each, _ in graded_levels)),
    )
    return grades, reasons


def _opinion(graded: Graded, policy: Policy) -> str:
    opinion = graded.by(policy)
    return "-" if opinion is None else opinion.grade


def _reasons(graded: Iterable[Graded]) -> list[tuple[str, ...]]:
    """Each reason once, by policy and from the best grade to the worst."""
    once = dict.fromkeys(
        (policies().index(opinion.policy), GRADES.index(opinion.grade), opinion.reason)
        for each in graded
        for opinion in each.opinions
    )
    return [
        (policies()[p].title, policies()[p].date, GRADES[g], reason, policies()[p].source)
        for p, g, reason in sorted(once)
    ]


def _graded_levels(summary: Summary, subject: Subject) -> list[tuple[Graded, str]]:
    """The grades of the levels that a cell has, with their labels.

    A size of Diffie-Hellman parameters has a row of its own where it changes the grades.
    """
    measured = {
        cell.factors.get(subject) for cell in summary.cells if cell.verdict != "unsupported"
    }
    levels = [level for level in summary.experiment.factors[subject] if level in measured]
    if subject == "group":
        return [(grade_group(level), level_label("group", level)) for level in levels]
    versions = summary.experiment.factors.get("http", ())
    http = "2" if "2" in versions or summary.experiment.workload.get("http") == "2" else None
    rows = [(grade_suite(level, http), level_label("suite", level)) for level in levels]
    given = map(dh_size, summary.experiment.factors.get("dh_bits", ()))
    sizes = dict.fromkeys(size for size in given if size is not None)
    for level in levels:
        for size in sizes if "_DHE_" in level else []:
            each = grade_suite(level, http, size)
            if each.opinions != grade_suite(level, http).opinions:
                label = f"{level_label('suite', level)}, {level_label('dh_bits', str(size))}"
                rows.append((each, label))
    return rows


def _recommendation(own: Iterable[Recommendation]) -> dict[str, Any]:
    return {
        "policies": [f"{policy.title} ({policy.date})" for policy in policies()],
        "servers": [
            {
                "server": each.field.server,
                "setting": dict(each.field.setting),
                "aim": each.aim,
                each.field.subject: each.chosen.name,
                "order": list(each.names),
                "verdict": each.trade_offs.verdict,
                "measure": each.trade_offs.measure,
                "left_out": {left.name: left.graded.against for left in each.field.objected},
            }
            for each in own
        ],
    }


def _finding(recommended: Recommendation) -> Finding:
    values = {"choice": recommended.choice, "with_price": True}
    return Finding("recommendation", cells=(recommended.chosen.cell,), values=values)
