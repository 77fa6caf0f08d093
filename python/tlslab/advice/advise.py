"""Advice joined to a summary: grades as a table, configurations as texts, a recommendation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tlslab.advice.emit import SYNTAXES
from tlslab.advice.objections import deployable, objections, with_objections
from tlslab.advice.policy import GRADES, Policy, none_objects, policies
from tlslab.advice.preference import Preference, Subject, preferences, subject_of
from tlslab.advice.proof_verdict import proved
from tlslab.advice.setting_grade import Graded, grade_group, grade_suite
from tlslab.model.estimates import estimate_name
from tlslab.model.figure import DataTable, TextBlock
from tlslab.model.finding import CellSummary, Finding, Ranking, Summary
from tlslab.model.leading import is_bound, unranked_words
from tlslab.model.wording import capital, figure, level_label, setting_of, with_interval

# Servers with the syntax of another server's family: the order of Node holds for RWSERVE.
_KIN = {"rwserve": "node"}


def advised(summary: Summary) -> Summary:
    """The summary with its advice; unchanged if there is nothing to choose."""
    if summary.proof is not None:
        return proved(summary)
    subject = subject_of(summary)
    if subject is None:
        return summary
    against = objections(summary, subject)
    few = summary.answer is not None and summary.answer.lacking and summary.answer.lacking.few
    # Too few blocks give no order that supports a sentence or a configuration.
    found = () if few else preferences(summary)
    sentences = tuple(
        s for each in _main(found) if (s := _sentence(summary, each, against)) is not None
    )
    return replace(
        summary,
        answer=deployable(summary, against),
        figures=with_objections(summary, against),
        tables=(*summary.tables, *_tables(summary, subject)),
        texts=(*summary.texts, *_texts(found)),
        findings=(*summary.findings, *sentences),
        recommendation=_recommendation(found) or summary.recommendation,
    )


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


def _main(found: Sequence[Preference]) -> list[Preference]:
    """One preference for each server: that of HTTP/2 if it was measured, else the first."""
    best: dict[str, Preference] = {}
    for each in found:
        if each.server not in best or each.setting.get("http") == "2":
            best[each.server] = each
    return list(best.values())


def _texts(found: Sequence[Preference]) -> tuple[TextBlock, ...]:
    """Each server's syntax, with the order measured on that server if there is one."""
    main = _main(found)
    if not main:
        return ()
    by_server = {each.server: each for each in main}
    texts = []
    for name, syntax in SYNTAXES.items():
        preference = by_server.get(name) or by_server.get(_KIN.get(name, "")) or main[0]
        if name == "domino":
            preference = _for_domino(found, preference)
        text = syntax.emit(preference)
        if text is not None:
            caption = f"For {syntax.place}; from the order measured on {preference.server}."
            texts.append(TextBlock(f"emit-{name}", f"Configuration: {syntax.title}", caption, text))
    return tuple(texts)


def _for_domino(found: Sequence[Preference], otherwise: Preference) -> Preference:
    """The preference for Domino, whose groups apply to its TLS 1.2."""
    return next((p for p in found if p.setting.get("tls") == "1.2"), otherwise)


def _recommendation(found: Sequence[Preference]) -> dict[str, Any] | None:
    main = [each for each in _main(found) if each.chosen]
    if not main:
        return None
    return {
        "policies": [f"{policy.title} ({policy.date})" for policy in policies()],
        "servers": [
            {
                "server": each.server,
                "setting": dict(each.setting),
                each.subject: each.chosen[0].name,
                "order": list(each.names),
                "left_out": {c.name: c.graded.against for c in each.left_out},
                "by": list(each.by),
            }
            for each in main
        ],
    }


def _sentence(
    summary: Summary, preference: Preference, against: Mapping[str, str]
) -> Finding | None:
    """The fastest level without objections, and one ahead of it to which a policy objects."""
    if not preference.chosen:
        return None
    chosen = preference.chosen[0]
    measure = preference.by[0]
    where = f"{preference.where}: " if preference.where else ""
    name = level_label(preference.subject, chosen.name)
    rate = _value(summary.cell(chosen.cell), measure)
    by = estimate_name(measure)
    none = none_objects(policies())
    if chosen.worst == chosen.best:
        text = (
            f"{where}{name} is the fastest on {preference.server} that {none} to, by {by}: {rate}."
        )
    else:
        text = (
            f"{where}{name} is recommended on {preference.server}: {none} to it, and "
            f"none of the others that may be used is established to be faster by {by} ({rate}); "
            f"{chosen.left_open}. "
            "Of those that cannot be told apart from it, it has the cheaper handshake."
        )
    faster = next((c for c in preference.left_out if c.place < chosen.place), None)
    if faster is not None:
        beaten = _ranking(summary, preference).beaten_by(faster.cell)
        verb = "is faster" if chosen.cell in beaten else "is not established to be slower"
        text += (
            f" {level_label(preference.subject, faster.name)} "
            f"({_value(summary.cell(faster.cell), measure)}) {verb}, and is not recommended: "
            f"{faster.graded.objection}."
        )
    text += _unranked(summary, preference, against)
    return Finding("recommendation", text, (chosen.cell,))


def _unranked(summary: Summary, preference: Preference, against: Mapping[str, str]) -> str:
    """Levels without objections that the order lacks, in a sentence; empty for none."""
    ranking = _ranking(summary, preference)
    mates = [
        cell
        for cell in summary.cells
        if setting_of(cell.factors, summary.experiment.baseline) == ranking.setting
        and not against[cell.key]
    ]

    def name(key: str) -> str:
        return level_label(preference.subject, summary.cell(key).factors[preference.subject])

    words = unranked_words(ranking, mates, name)
    return f" {capital(words)}." if words else ""


def _ranking(summary: Summary, preference: Preference) -> Ranking:
    """The ranking that determined the order."""
    return next(
        each
        for each in summary.rankings
        if each.setting == preference.setting and each.estimate == preference.by[0]
    )


def _value(cell: CellSummary, measure: str) -> str:
    found = cell.estimates.get(measure)
    if found is not None and is_bound(cell, measure):
        return f"at least {figure(found.value)}"
    return "-" if found is None else with_interval(found)
