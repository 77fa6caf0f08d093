"""The answer of a run of the kind `matrix`: the leading cells, the certainty, and the settings."""

import math
from collections.abc import Sequence
from dataclasses import replace

from tlslab.analysis.compare import Measured, compare, paired_logs
from tlslab.analysis.enough import (
    DOTS_ONLY,
    FEWEST,
    again,
    minutes,
    open_still,
    too_few,
    wanted_blocks,
)
from tlslab.analysis.matrix.findings import where_measured
from tlslab.analysis.matrix.servers import Leading
from tlslab.analysis.ranking import settings
from tlslab.domain.answer import Answer, Lacking
from tlslab.domain.elsewhere import Cells, Led, beside, fewest, led
from tlslab.domain.enough import EQUIVALENCE, too_wide
from tlslab.domain.estimates import CONNECTIONS, estimate_name
from tlslab.domain.finding import CellSummary, Ranking
from tlslab.domain.leading import (
    Lead,
    lead_words,
    measured_words,
    open_words,
    tiles,
    unranked,
    unranked_words,
)
from tlslab.domain.run import RunContents
from tlslab.domain.setting import RANKED_FIGURES, figure_id
from tlslab.domain.wording import (
    capital,
    counted,
    difference,
    ratio_figure,
    setting_of,
    short_label,
    subject_noun,
)


def answer(
    contents: RunContents,
    cells: Sequence[Measured],
    ranked: Sequence[Ranking],
    servers: Leading | None = None,
) -> Answer:
    """The answer from the first setting that has an order; other settings as far as they agree.

    `servers`: the leading sentence of a run that compares servers; the answer then takes the
    setting of its best cell.
    """
    answering = _Answering(contents, cells, ranked)
    if servers is None:
        return answering.answer()
    found = answering.answer(servers.best)
    if found.lacking:
        return found
    sentences = (servers.sentence, *found.sentences[:1])
    return replace(found, sentences=sentences, confidence=f"{found.confidence}; {servers.tested}")


class _Answering:
    def __init__(
        self, contents: RunContents, cells: Sequence[Measured], ranked: Sequence[Ranking]
    ) -> None:
        self._contents = contents
        self._baseline = contents.experiment.baseline
        self._cells = {cell.summary.key: cell for cell in cells}
        self._settings = settings(cells, self._baseline)
        self._noun = subject_noun(self._baseline)
        self._ranked = ranked
        self._called = Cells(self._summary, self._name)
        self._chosen = [led(ranked, setting, self._called) for setting in self._settings]

    def answer(self, best: str = "") -> Answer:
        """The answer from the setting that `best` leads, else from the first that has an order."""
        ordered = [(i, each) for i, each in enumerate(self._chosen) if each is not None]
        named = [(i, each) for i, each in ordered if each.lead.first == best]
        chosen = next(iter([*named, *ordered]), None)
        if chosen is None:
            return self._unranked()
        number, first = chosen
        ranking, found = first.ranking, first.lead
        figure = figure_id(number + 1, RANKED_FIGURES[ranking.estimate])
        lacking = self._lacking(ranking, found)
        sentences = () if lacking else (self._first(ranking, found), *self._second(first))
        return Answer(
            question=self._contents.experiment.title,
            sentences=sentences[:2],
            confidence=self._confidence(ranking, found),
            lacking=lacking,
            tiles=() if lacking else tiles(self._summary(found.first)),
            figure=figure,
        )

    def _unranked(self) -> Answer:
        """The answer without any order: nothing is valid, or there are only lower bounds."""
        bounds = [c for c in self._cells.values() if c.has_place(CONNECTIONS)]
        if bounds:
            why = "The generator was the limit in every cell: rates are lower bounds without order."
            lacking = Lacking(why)
            number = self._settings.index(setting_of(bounds[0].summary.factors, self._baseline)) + 1
            figure = figure_id(number, RANKED_FIGURES[CONNECTIONS])
        else:
            lacking = Lacking("No cell has a result that may be ranked: the warnings say why.")
            figure = ""
        return Answer(self._contents.experiment.title, (), "", lacking, (), figure)

    def _summary(self, key: str) -> CellSummary:
        return self._cells[key].summary

    def _name(self, key: str) -> str:
        levels = self._summary(key).factors
        return short_label({name: levels[name] for name in self._baseline})

    def _lacking(self, ranking: Ranking, found: Lead) -> Lacking | None:
        """A lack of blocks, of precision, or of any established difference.

        None if nothing is lacking.
        """
        estimate = ranking.estimate
        members = [self._cells[key] for key in ranking.cells]
        n = fewest(Led(ranking, found), self._called)
        if n < FEWEST:
            fewer = too_few(self._contents, n)
            if self._contents.experiment.stopping is None:
                return fewer
            # A run that ends by itself gets a higher limit of blocks, not a fixed number.
            return replace(open_still(self._contents, fewer.why, 2 * FEWEST), few=True)
        best = self._cells[found.first]
        known = best.summary.estimates[estimate]
        if not best.is_bound(estimate) and too_wide(known.low, known.high):
            why = f"The interval of {self._name(found.first)} is too wide for a sentence."
            return open_still(self._contents, why, self._wanted(members, estimate))
        if len(members) == 1 and (absent := unranked(ranking, self._mates(ranking))):
            total = len(members) + len(absent)
            name = self._name(found.first)
            why = f"Only {name} of {total} {self._noun}s can be ranked: the table says why."
            return Lacking(why)
        if found.slower or len(members) == 1 or self._near(ranking) is not None:
            return None
        why = f"No two of the {len(members)} {self._noun}s can be told apart"
        left = self._open(ranking)
        why += "." if left is None else f"; they may differ by up to {difference(left)}."
        if any(cell.is_bound(estimate) for cell in members):
            # More blocks do not turn a bound into a value.
            why += " The generator was the limit of some: their rates are lower bounds."
            return Lacking(why, again(self._contents), minutes(self._contents, 1.0))
        return open_still(self._contents, why, self._wanted(members, estimate))

    def _mates(self, ranking: Ranking) -> list[CellSummary]:
        """All cells of a ranking's setting."""
        summaries = (cell.summary for cell in self._cells.values())
        return [s for s in summaries if setting_of(s.factors, self._baseline) == ranking.setting]

    def _wanted(self, members: Sequence[Measured], estimate: str) -> int:
        if len(members) < 2:
            return 2 * FEWEST
        logs = paired_logs(members[0].values[estimate], members[1].values[estimate])
        return wanted_blocks(list(map(float, logs)))

    def _near(self, ranking: Ranking) -> float | None:
        """The largest open difference if none is established and the open one is small."""
        left = self._open(ranking)
        return left if left is not None and left <= EQUIVALENCE else None

    def _open(self, ranking: Ranking) -> float | None:
        """The largest open difference between any two cells; None if unknown."""
        left = [place.may_differ for place in ranking.places]
        known = [each for each in left if each is not None]
        return max(known) if known and len(known) == len(left) else None

    def _first(self, ranking: Ranking, found: Lead) -> str:
        estimate = ranking.estimate
        members = [self._cells[key] for key in ranking.cells]
        where = where_measured(self._contents, self._summary(found.first))
        near = None if found.slower or len(members) < 2 else self._near(ranking)
        if near is not None:
            every = "Both" if len(members) == 2 else f"All {len(members)}"
            return (
                f"{every} {self._noun}s are within {difference(near)} of each other by "
                f"{estimate_name(estimate)} {where}."
            )
        if len(members) == 1:
            words = measured_words(self._summary(found.first), estimate)
            return f"{capital(self._name(found.first))}: {words} {where}."
        text = capital(lead_words(found, ranking, self._summary, self._name, self._noun))
        return f"{text} {where}{self._next(ranking, found)}."

    def _next(self, ranking: Ranking, found: Lead) -> str:
        """The lead of the first cell over the next one that it is detectably better than."""
        order = ranking.cells
        beaten = {order[number] for number in ranking.places[order.index(found.first)].beats}
        other = next((key for key in found.slower if key in beaten), None)
        if other is None:
            return ""
        best = self._cells[found.first]
        ratio = compare(best, self._cells[other], ranking.estimate, bounds=True)
        if ratio is None or ratio.low is None or ratio.high is None or ratio.n < FEWEST:
            return ""
        if best.is_bound(ranking.estimate):
            return f", at least {ratio_figure(ratio.low)} times that of {self._name(other)}"
        ends = f"{ratio_figure(ratio.low)} to {ratio_figure(ratio.high)}"
        return f", {ratio_figure(ratio.ratio)} times (95 %: {ends}) that of {self._name(other)}"

    def _second(self, first: Led) -> tuple[str, ...]:
        """The second sentence: cells without a known place; else what stands beside the leader."""
        if missing := self._missing(first.ranking, first.lead):
            return (f"{capital(missing)}.",)
        others = [each for each in self._chosen if each is not None and each is not first]
        return beside(first, others, self._ranked, self._called)

    def _missing(self, ranking: Ranking, found: Lead) -> str:
        """The cells of the setting of `ranking` that have no place, or none that is known."""
        words = (
            open_words(found, ranking.estimate, self._summary, self._name),
            unranked_words(ranking, self._mates(ranking), self._name),
        )
        return "; ".join(filter(None, words))

    def _confidence(self, ranking: Ranking, found: Lead) -> str:
        members = [self._cells[key] for key in ranking.cells]
        blocks = fewest(Led(ranking, found), self._called)
        if blocks < FEWEST:
            return f"{counted(blocks, 'block')}: {DOTS_ONLY}"
        tests = math.comb(len(members), 2)
        holds = " that hold after every block" if any(c.anytime for c in members) else ""
        words = f"{counted(blocks, 'block')} in random order, intervals of 95 %{holds}"
        if tests:
            words += f"; {counted(tests, 'pair')} tested together at 5 % (Holm)"
        return words
