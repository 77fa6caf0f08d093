"""Advice joined to a summary: grades as a table, configurations as texts, a recommendation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tlslab.advice.choice import Recommendation, preference
from tlslab.advice.emit import SYNTAXES
from tlslab.advice.explain import heads, pointed_out, quoted
from tlslab.advice.objections import deployable, leader, objections, with_objections
from tlslab.advice.policy import GRADES, Policy, policies
from tlslab.advice.preference import Subject, subject_of
from tlslab.advice.proof_verdict import proved
from tlslab.advice.setting_grade import Graded, grade_group, grade_suite
from tlslab.domain.answer import Answer
from tlslab.domain.figure import DataTable, TextBlock
from tlslab.domain.finding import Finding, Summary
from tlslab.domain.wording import level_label


def advised(summary: Summary, found: Mapping[str, Recommendation] | None = None) -> Summary:
    """The summary with its advice; unchanged if there is nothing to choose.

    `found`: the recommendations for servers by their names, which the summary quotes: those that
    were measured, and those of SYNTAXES.
    """
    if summary.proof is not None:
        return proved(summary)
    subject = subject_of(summary)
    if subject is None:
        return summary
    against = objections(summary, subject)
    few = summary.answer is not None and summary.answer.lacking and summary.answer.lacking.few
    # Too few blocks give no order that supports a sentence or a configuration.
    found = {} if few or found is None else found
    own = [each for server, each in found.items() if each.field.server == server]
    return replace(
        summary,
        answer=_pointing(summary, deployable(summary, against), against, own),
        figures=with_objections(summary, against),
        tables=(*summary.tables, *_tables(summary, subject)),
        texts=(*summary.texts, *_texts(found)),
        findings=(*summary.findings, *map(_sentence, own)),
        recommendation=_recommendation(own) or summary.recommendation,
    )


def _pointing(
    summary: Summary,
    answer: Answer | None,
    against: Mapping[str, str],
    own: Sequence[Recommendation],
) -> Answer | None:
    """The answer, with the choice at its end if the answer names another first."""
    if answer is None or answer.lacking is not None or len(own) != 1:
        return answer
    (found,) = own
    first = leader(summary, answer, against)
    if first is None or first.factors[found.field.subject] == found.chosen.name:
        return answer
    said, *more = answer.sentences
    return replace(answer, sentences=(said, " ".join((*more, pointed_out(found)))))


def _tables(summary: Summary, subject: Subject) -> tuple[DataTable, DataTable]:
    """Each policy's grades of the levels; and the policies, with their reasons."""
    graded = _graded(summary, subject)
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
            for each, label in graded
        ),
    )
    reasons = DataTable(
        id="policies",
        title="The policies and their reasons",
        caption="Each is a data file with its date and source.",
        columns=("policy", "date", "grade", "reason", "source"),
        rows=tuple(_reasons(each for each, _ in graded)),
    )
    return grades, reasons


def _opinion(graded: Graded, policy: Policy) -> str:
    opinion = graded.by(policy)
    return "-" if opinion is None else opinion.grade


def _reasons(graded: Iterable[Graded]) -> list[tuple[str, ...]]:
    """Each reason once, by policy and from the best grade to the worst."""
    found = dict.fromkeys(
        (policies().index(opinion.policy), GRADES.index(opinion.grade), opinion.reason)
        for each in graded
        for opinion in each.opinions
    )
    return [
        (policies()[p].title, policies()[p].date, GRADES[g], reason, policies()[p].source)
        for p, g, reason in sorted(found)
    ]


def _graded(summary: Summary, subject: Subject) -> list[tuple[Graded, str]]:
    measured = {
        cell.factors.get(subject) for cell in summary.cells if cell.verdict != "unsupported"
    }
    # A level that no cell has is nothing to choose.
    levels = [level for level in summary.experiment.factors[subject] if level in measured]
    if subject == "group":
        return [(grade_group(level), level_label("group", level)) for level in levels]
    versions = summary.experiment.factors.get("http", ())
    http = "2" if "2" in versions or summary.experiment.workload.get("http") == "2" else None
    found = [(grade_suite(level, http), level_label("suite", level)) for level in levels]
    sizes = [size for size in summary.experiment.factors.get("dh_bits", ()) if size.isdigit()]
    for level in levels:
        for size in sizes if "_DHE_" in level else []:
            graded = grade_suite(level, http, int(size))
            if graded.opinions != grade_suite(level, http).opinions:
                label = f"{level_label('suite', level)}, {level_label('dh_bits', size)}"
                found.append((graded, label))
    return found


def _texts(found: Mapping[str, Recommendation]) -> tuple[TextBlock, ...]:
    """Each server's syntax, with the order that `tlslab recommend --for SERVER` gives."""
    texts = []
    for name, syntax in SYNTAXES.items():
        each = found.get(name)
        text = None if each is None else syntax.emit(preference(each, heads(each)))
        if each is not None and text is not None:
            title, server = f"Configuration: {syntax.title}", each.field.server
            caption = f"For {syntax.place}; recommended by the measurements on {server}."
            texts.append(TextBlock(f"emit-{name}", title, caption, text))
    return tuple(texts)


def _recommendation(own: Sequence[Recommendation]) -> dict[str, Any] | None:
    if not own:
        return None
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


def _sentence(found: Recommendation) -> Finding:
    return Finding("recommendation", quoted(found), (found.chosen.cell,))
