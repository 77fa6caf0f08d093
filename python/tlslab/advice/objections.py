"""The answer and the figures of a summary, with the objections of policies."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from tlslab.advice.preference import Subject
from tlslab.advice.setting_grade import Graded, grade_group, grade_suite
from tlslab.domain.answer import Answer, Lacking
from tlslab.domain.elsewhere import Cells, Led, beside, fewest, led
from tlslab.domain.enough import EQUIVALENCE, too_wide
from tlslab.domain.figure import Figure, Series
from tlslab.domain.finding import CellSummary, Ranking, Summary
from tlslab.domain.leading import (
    lead,
    lead_words,
    measured_words,
    open_words,
    tiles,
    unranked,
    unranked_words,
)
from tlslab.domain.setting import RANKED_FIGURES, figure_id, settings_of
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.wording import cell_label, counted, setting_of, short_label, subject_noun


def graded(cell: CellSummary, subject: Subject, http: str | None = None) -> Graded:
    """The grade of a cell's setting; `http`: the run's version, if it has only one."""
    name = cell.factors[subject]
    if subject == "group":
        return grade_group(name)
    bits = cell.factors.get("dh_bits", "")
    size = int(bits) if bits.isdigit() else None
    return grade_suite(name, cell.factors.get("http", http), size)


def objections(summary: Summary, subject: Subject) -> dict[str, str]:
    """The objections of policies to each cell, by its key; empty strings for none."""
    http = summary.experiment.workload.get("http")
    found = {cell.key: graded(cell, subject, http) for cell in summary.cells}
    return {key: "" if each.passes else each.objection for key, each in found.items()}


def with_objections(summary: Summary, against: Mapping[str, str]) -> tuple[Figure, ...]:
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
    """The answer among the cells without objections, if it differs from the summary's answer.

    Cells with an objection keep their place in the ranking and are never the answer (ADR 0034).
    """
    answer = summary.answer
    ranking = None if answer is None else _answering(summary, answer)
    if answer is None or ranking is None or answer.lacking is not None:
        return answer
    overall = lead(ranking)
    if overall is None:
        return answer
    if not any(against[key] for key in (overall.first, *overall.tied)):
        return _beside_deployable(summary, against, answer, Led(ranking, overall))
    found = lead(ranking, {key for key in ranking.cells if not against[key]})
    if found is None:
        noun = subject_noun(summary.experiment.baseline)
        why = f"Policies object to every {noun} that was measured: the table of grades says why."
        return _without(answer, why)
    return _Deployable(summary, against, Led(ranking, found)).answer(answer)


def leader(summary: Summary, answer: Answer, against: Mapping[str, str]) -> CellSummary | None:
    """The cell that the answer of `deployable` names first; None without a ranking."""
    ranking = _answering(summary, answer)
    found = None if ranking is None else lead(ranking, {k for k in ranking.cells if not against[k]})
    return None if found is None else summary.cell(found.first)


def _without(answer: Answer, why: str) -> Answer:
    """An answer without sentences, with the reason."""
    return replace(answer, sentences=(), lacking=Lacking(why), tiles=())


def _beside_deployable(
    summary: Summary, against: Mapping[str, str], answer: Answer, first: Led
) -> Answer:
    """The answer; a second sentence on leaders is limited to those that may be deployed."""

    def second(allowed: Collection[str] | None) -> tuple[str, ...]:
        cells = Cells(summary.cell, _namer(summary), allowed)
        led_all = [led(summary.rankings, setting, cells) for setting in _settings(summary)]
        others = [each for each in led_all if each and each.ranking is not first.ranking]
        return beside(first, others, summary.rankings, cells)

    if answer.sentences[1:] != second(None):
        return answer
    allowed = {key for key, objection in against.items() if not objection}
    return replace(answer, sentences=(answer.sentences[0], *second(allowed)))


class _Deployable:
    """The answer from a ranking's cells without objections, one of which leads."""

    def __init__(self, summary: Summary, against: Mapping[str, str], first: Led) -> None:
        self._summary, self._against = summary, against
        self._ranking, self._found = first.ranking, first.lead
        self._name = _namer(summary)
        self._cells = Cells(summary.cell, self._name)
        self._noun = subject_noun(summary.experiment.baseline)
        self._blocks = fewest(first, self._cells)
        self._ranked = [key for key in self._ranking.cells if not against[key]]

    def answer(self, overall: Answer) -> Answer:
        """The replacement for the `overall` answer, which names cells with objections."""
        if why := self._lacking():
            others = "faster ones" if self._is_beaten() else "others that may be faster"
            return _without(overall, f"{why} Policies object to {others}: the table says why.")
        setting = f" with {cell_label(self._ranking.setting)}" if self._ranking.setting else ""
        first = "; ".join([f"{self._leads()}{setting}", *filter(None, self._missing())])
        second = _left_out(self._ranking, self._found.first, self._against, self._name)
        _, random, rest = overall.confidence.partition(" in random order")
        return replace(
            overall,
            sentences=(f"{first}.", second),
            confidence=f"{counted(self._blocks, 'block')}{random}{rest}",
            tiles=tiles(self._summary.cell(self._found.first)),
        )

    def _is_beaten(self) -> bool:
        """Whether a cell with an objection is established to be faster than the first."""
        place = self._ranking.cells.index(self._found.first)
        return any(place in each.beats for each in self._ranking.places if self._against[each.cell])

    def _lacking(self) -> str:
        """The reason that there is no answer among these cells; empty if there is one."""
        if self._blocks < LEAST_BLOCKS:
            name = self._name(self._found.first)
            return (
                f"{name}, which may be deployed, has {counted(self._blocks, 'block')}: fewer than "
                f"{LEAST_BLOCKS} carry no sentence."
            )
        first = self._summary.cell(self._found.first)
        estimate = first.estimates[self._ranking.estimate]
        bound = first.is_bound(self._ranking.estimate)
        if not bound and too_wide(estimate.low, estimate.high):
            return f"The interval of {self._name(first.key)} is too wide for a sentence."
        mates = unranked(self._ranking, self._mates())
        if len(self._ranked) == 1 and mates:
            total = 1 + len(mates)
            return (
                f"Only {self._name(first.key)} of the {total} {self._noun}s that you may deploy "
                "can be ranked."
            )
        place = next(p for p in self._ranking.places if p.cell == first.key)
        near = place.may_differ is not None and place.may_differ <= EQUIVALENCE
        if len(self._ranked) > 1 and not self._found.slower and not near:
            return f"No two of the {self._noun}s that you may deploy can be told apart."
        return ""

    def _leads(self) -> str:
        if len(self._ranked) == 1:
            words = measured_words(self._summary.cell(self._ranked[0]), self._ranking.estimate)
            return f"{self._name(self._ranked[0])} is all that you may deploy: {words}"
        words = lead_words(self._found, self._ranking, self._summary.cell, self._name)
        return f"Of the {self._noun}s that you may deploy, {words}"

    def _missing(self) -> tuple[str, str]:
        """Cells that may be deployed and may be faster, as far as is known."""
        return (
            open_words(self._found, self._ranking.estimate, self._summary.cell, self._name),
            unranked_words(self._ranking, self._mates(), self._name),
        )

    def _mates(self) -> list[CellSummary]:
        baseline = self._summary.experiment.baseline
        return [
            cell
            for cell in self._summary.cells
            if setting_of(cell.factors, baseline) == self._ranking.setting
            and not self._against[cell.key]
        ]


def _namer(summary: Summary) -> Callable[[str], str]:
    baseline = summary.experiment.baseline
    return lambda key: _name(summary.cell(key), baseline)


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
