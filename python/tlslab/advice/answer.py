"""The answer and the figures of a summary, with what policies object to."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tlslab.advice.grade import Graded, grade_group, grade_suite
from tlslab.advice.preference import Subject
from tlslab.model.answer import Answer, Lacking
from tlslab.model.figure import Figure, Series
from tlslab.model.finding import CellSummary, Ranking, Summary
from tlslab.model.leading import lead, lead_words, open_words, tiles, unranked_words
from tlslab.model.setting import RANKED_FIGURES, figure_id, settings_of
from tlslab.model.wording import cell_label, counted, setting_of, short_label, subject_noun


def graded(cell: CellSummary, subject: Subject, http: str | None = None) -> Graded:
    """The grade of what a cell was measured with; `http`: the run's version, if it has one only."""
    name = cell.factors[subject]
    if subject == "group":
        return grade_group(name)
    bits = cell.factors.get("dh_bits", "")
    size = int(bits) if bits.isdigit() else None
    return grade_suite(name, cell.factors.get("http", http), size)


def objections(summary: Summary, subject: Subject) -> dict[str, str]:
    """What policies have against each cell, by its key; empty for nothing."""
    http = summary.experiment.workload.get("http")
    found = {cell.key: graded(cell, subject, http) for cell in summary.cells}
    return {key: "" if each.passes else each.objection for key, each in found.items()}


def with_objections(summary: Summary, against: Mapping[str, str]) -> tuple[Figure, ...]:
    """The figures; rankings of settings say what policies object to."""
    baseline = summary.experiment.baseline
    by_figure: dict[str, dict[str, str]] = {}
    for number, setting in enumerate(_settings(summary), start=1):
        named = {
            _name(cell, baseline): against[cell.key]
            for cell in summary.cells
            if setting_of(cell.factors, baseline) == setting
        }
        by_figure |= {figure_id(number, what): named for what in RANKED_FIGURES.values()}
    return tuple(_with_objections(figure, by_figure.get(figure.id)) for figure in summary.figures)


def _with_objections(figure: Figure, named: Mapping[str, str] | None) -> Figure:
    if named is None:
        return figure
    return replace(figure, series=tuple(_objected(each, named) for each in figure.series))


def _settings(summary: Summary) -> list[dict[str, str]]:
    return settings_of((cell.factors for cell in summary.cells), summary.experiment.baseline)


def _name(cell: CellSummary, baseline: Mapping[str, str]) -> str:
    return short_label({name: cell.factors[name] for name in baseline if name in cell.factors})


def _objected(series: Series, named: Mapping[str, str]) -> Series:
    return replace(series, objections=tuple(named.get(str(place), "") for place in series.x))


def deployable(summary: Summary, against: Mapping[str, str]) -> Answer | None:
    """The answer among the cells that no policy objects to, if the summary's answer is another.

    Cells with an objection keep their place in the ranking and are never the answer (ADR 0034).
    """
    answer = summary.answer
    ranking = None if answer is None else _answering(summary, answer)
    if answer is None or ranking is None or answer.lacking is not None:
        return answer
    overall = lead(ranking)
    if overall is None or not any(against[key] for key in (overall.first, *overall.tied)):
        return answer
    noun = subject_noun(summary.experiment.baseline)
    found = lead(ranking, {key for key in ranking.cells if not against[key]})
    if found is None:
        why = f"Policies object to every {noun} that was measured: the table of grades says why."
        return replace(answer, sentences=(), lacking=Lacking(why), tiles=())
    baseline = summary.experiment.baseline

    def name(key: str) -> str:
        return _name(summary.cell(key), baseline)

    words = lead_words(found, ranking.estimate, summary.cell, name)
    setting = f" with {cell_label(ranking.setting)}" if ranking.setting else ""
    mates = [
        cell
        for cell in summary.cells
        if setting_of(cell.factors, baseline) == ranking.setting and not against[cell.key]
    ]
    missing = (
        open_words(found, ranking.estimate, summary.cell, name),
        unranked_words(ranking, mates, name),
    )
    first = "; ".join(
        [f"Of the {noun}s that you may deploy, {words}{setting}", *filter(None, missing)]
    )
    second = _left_out(ranking, found.first, against, name)
    return replace(answer, sentences=(f"{first}.", second), tiles=tiles(summary.cell(found.first)))


def _answering(summary: Summary, answer: Answer) -> Ranking | None:
    """The ranking that the answer's figure shows."""
    for number, setting in enumerate(_settings(summary), start=1):
        for ranking in summary.rankings:
            what = RANKED_FIGURES.get(ranking.estimate, "")
            if ranking.setting == setting and answer.figure == figure_id(number, what):
                return ranking
    return None


def _left_out(
    ranking: Ranking, first: str, against: Mapping[str, str], name: Callable[[str], str]
) -> str:
    """The first cell that is, or may be, faster and has an objection, with the gravest one."""
    place = ranking.cells.index(first)
    beaten = {ranking.cells[number] for number in ranking.places[place].beats}
    out = [key for key in ranking.cells if against[key] and key not in beaten]
    faster = [key for key in out if place in ranking.places[ranking.cells.index(key)].beats]
    shown, *others = faster or out
    verb = "is faster" if faster else "is not established to be slower"
    more = f"; likewise {counted(len(others), 'other')}" if others else ""
    return f"{name(shown)} {verb}, but policies object to it: {against[shown]}{more}."
