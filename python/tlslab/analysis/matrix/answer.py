"""The answer of a run of the kind `matrix`: the leading cells, the certainty, and the settings."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tlslab.analysis.compare import Measured, compare, paired_logs
from tlslab.analysis.enough import FEWEST, again, minutes, open_still, too_few, wanted_blocks
from tlslab.analysis.matrix.findings import place_of
from tlslab.analysis.matrix.servers import Leading
from tlslab.analysis.ranking import settings
from tlslab.domain.enough import EQUIVALENCE, too_wide
from tlslab.domain.estimates import CONNECTIONS, OPEN_REQUESTS, SERVER_COST
from tlslab.domain.finding import Answer, CellSummary, Lacking, Ranking, Statement, Values
from tlslab.domain.leading import Led, lead, led, tiles, unranked
from tlslab.domain.names import NO_TLS
from tlslab.domain.run import RunContents
from tlslab.domain.setting import RANKED_FIGURES, figure_id
from tlslab.domain.wording import setting_of, short_label


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
    if found.lacking or found.certainty is None:
        return found
    pairs = {"server_pairs": servers.values["pairs"]}
    certainty = replace(found.certainty, values={**found.certainty.values, **pairs})
    first = Statement("best_server", servers.values)
    statements = (first, *found.statements[:1], *answering.baseline(servers.best))
    return replace(found, statements=statements, certainty=certainty)


class _Answering:
    def __init__(
        self, contents: RunContents, cells: Sequence[Measured], ranked: Sequence[Ranking]
    ) -> None:
        self._contents = contents
        self._baseline = contents.experiment.baseline
        self._cells = {cell.summary.key: cell for cell in cells}
        self._settings = settings(cells, self._baseline)
        self._ranked = ranked
        self._chosen = [led(ranked, setting) for setting in self._settings]

    def answer(self, best: str = "") -> Answer:
        """The answer from the setting that `best` leads, else from the first that has an order."""
        ordered = [(i, each) for i, each in enumerate(self._chosen) if each is not None]
        named = [(i, each) for i, each in ordered if each.lead.first == best]
        chosen = next(iter([*named, *ordered]), None)
        if chosen is None:
            return self._unranked()
        number, first = chosen
        lacking = self._lacking(first)
        statements: tuple[Statement, ...] = ()
        if not lacking:
            statements = (self._first(first), *self._second(first))[:2]
            statements += self.baseline(first.lead.first)
        return Answer(
            question=self._contents.experiment.title,
            statements=statements,
            certainty=self._certainty(first),
            lacking=lacking,
            tiles=() if lacking else tiles(self._summary(first.lead.first)),
            figure=figure_id(number + 1, RANKED_FIGURES[first.ranking.estimate]),
        )

    def baseline(self, best: str) -> tuple[Statement, ...]:
        """What the best cell costs over the same one without TLS; empty without such a cell."""
        leader = self._cells[best]
        same = {**leader.summary.factors, "tls": NO_TLS}
        plain = next((c for c in self._cells.values() if c.summary.factors == same), None)
        if plain is None:
            return ()
        for estimate in (SERVER_COST, CONNECTIONS):
            found = compare(leader, plain, estimate)
            if found is not None and found.verdict != "not_comparable" and found.n >= FEWEST:
                values = {"cell": best, "estimate": estimate, "ratio": found.as_estimate}
                return (Statement("without_tls", values),)
        return (Statement("without_tls", {"cell": best, "estimate": "", "ratio": None}),)

    def _unranked(self) -> Answer:
        """The answer without any order: nothing is valid, or there are only lower bounds."""
        title = self._contents.experiment.title
        bounds = [c for c in self._cells.values() if c.has_place(CONNECTIONS)]
        if not bounds:
            return Answer(title, lacking=Lacking(code="nothing_ranked"))
        setting = setting_of(bounds[0].summary.factors, self._baseline)
        figure = figure_id(self._settings.index(setting) + 1, RANKED_FIGURES[CONNECTIONS])
        return Answer(title, lacking=Lacking(code="only_bounds"), figure=figure)

    def _summary(self, key: str) -> CellSummary:
        return self._cells[key].summary

    def _name(self, key: str) -> str:
        levels = self._summary(key).factors
        return short_label({name: levels[name] for name in self._baseline})

    def _fewest(self, found: Led) -> int:
        """The smallest number of trials among the cells that may lead."""
        estimate = found.ranking.estimate
        return min(self._summary(key).estimates[estimate].n for key in found.leaders)

    def _lacking(self, found: Led) -> Lacking | None:
        """A lack of blocks, of precision, or of any established difference.

        None if nothing is lacking.
        """
        ranking, first = found.ranking, found.lead.first
        members = [self._cells[key] for key in ranking.cells]
        n = self._fewest(found)
        if n < FEWEST:
            fewer = too_few(self._contents, n)
            if self._contents.experiment.stopping is None:
                return fewer
            # A run that ends by itself gets a higher limit of blocks, not a fixed number.
            return open_still(self._contents, fewer, 2 * FEWEST)
        best = self._cells[first]
        known = best.summary.estimates[ranking.estimate]
        wanted = self._wanted(members, ranking.estimate)
        if not best.is_bound(ranking.estimate) and too_wide(known.low, known.high):
            wide = Lacking(code="too_wide", values={"cell": first})
            return open_still(self._contents, wide, wanted)
        if len(members) == 1 and (absent := unranked(ranking, self._mates(ranking))):
            return Lacking(code="one_ranked", values={"cell": first, "of": 1 + len(absent)})
        if found.lead.slower or len(members) == 1 or self._near(ranking) is not None:
            return None
        bounded = any(cell.is_bound(ranking.estimate) for cell in members)
        values = {"cells": len(members), "may_differ": self._open(ranking), "bounded": bounded}
        alike = Lacking(code="none_apart", values=values)
        if bounded:
            # More blocks do not turn a bound into a value.
            return replace(
                alike, command=again(self._contents), minutes=minutes(self._contents, 1.0)
            )
        return open_still(self._contents, alike, wanted)

    def _mates(self, ranking: Ranking) -> list[CellSummary]:
        """All cells of a ranking's setting that may have a place in it."""
        summaries = (cell.summary for cell in self._cells.values())
        return [
            s
            for s in summaries
            if setting_of(s.factors, self._baseline) == ranking.setting and not s.without_tls
        ]

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

    def _first(self, found: Led) -> Statement:
        ranking, first = found.ranking, found.lead.first
        values: dict[str, Any] = {"estimate": ranking.estimate, "where": self._where(first)}
        near = None if found.lead.slower or len(ranking.cells) < 2 else self._near(ranking)
        if near is not None:
            return Statement("alike", {**values, "cells": len(ranking.cells), "difference": near})
        if len(ranking.cells) == 1:
            return Statement("alone", {**values, "cell": first})
        return Statement("leads", {**values, **lead_values(found), "next": self._next(found)})

    def _where(self, key: str) -> Values:
        """The server of a cell, its size and the cell's setting."""
        target = self._contents.environment.target_of(self._contents.plan.cell(key).deployment)
        return place_of(target, setting_of(self._summary(key).factors, self._baseline))

    def _next(self, found: Led) -> Values | None:
        """The lead of the first cell over the next one that it is detectably better than."""
        ranking, first = found.ranking, found.lead.first
        order = ranking.cells
        beaten = {order[number] for number in ranking.places[order.index(first)].beats}
        other = next((key for key in found.lead.slower if key in beaten), None)
        if other is None:
            return None
        ratio = compare(self._cells[first], self._cells[other], ranking.estimate, bounds=True)
        if ratio is None or ratio.low is None or ratio.high is None or ratio.n < FEWEST:
            return None
        return {"cell": other, "ratio": ratio.as_estimate}

    def _second(self, first: Led) -> Iterable[Statement]:
        """The second sentence: cells without a known place; else what stands beside the leader."""
        ranking = first.ranking
        missing = without_place(ranking, self._mates(ranking))
        if first.lead.open or missing:
            values = {"estimate": ranking.estimate, "open": first.lead.open, "unranked": missing}
            yield Statement("without_place", values)
        elif len(ranking.cells) > 1:
            beside = self._kept_open(ranking) or self._elsewhere(first)
            yield from () if beside is None else (beside,)

    def _kept_open(self, ranking: Ranking) -> Statement | None:
        """The cell that answers most requests in the setting; None if that is not known."""
        by = OPEN_REQUESTS
        others = (r for r in self._ranked if r.setting == ranking.setting and r.estimate == by)
        other = next(others, None)
        found = None if other is None else lead(other)
        if other is None or found is None or ranking.estimate == by or not found.slower:
            return None
        leaders = Led(other, found)
        if self._fewest(leaders) < FEWEST:
            return None
        return Statement("leads_kept_open", lead_values(leaders))

    def _elsewhere(self, first: Led) -> Statement | None:
        """Whether the leader of one setting leads the other settings, too; None if not known.

        The place of an open lower bound is not known.
        """
        others = [
            each
            for each in self._chosen
            if each is not None and each is not first and self._fewest(each) >= FEWEST
        ]
        name = self._name(first.lead.first)
        leaders = [[self._name(key) for key in each.leaders] for each in others]
        slower = [[self._name(key) for key in each.lead.slower] for each in others]
        known = [i for i in range(len(others)) if name in (*leaders[i], *slower[i])]
        behind = [i for i in known if name not in leaders[i]]
        if behind:
            led_by = [
                {"setting": others[i].ranking.setting, "leaders": others[i].leaders} for i in behind
            ]
            return Statement("others_lead_elsewhere", {"settings": led_by})
        if not known:
            return None
        tied = [others[i] for i in known if others[i].lead.tied]
        values = {
            "first": first.lead.first,
            "shares_lead": bool(first.lead.tied),
            "settings": len(known),
            "all_settings": len(others),
            "setting": others[known[0]].ranking.setting,
            "ties": [_left(each) for each in tied],
        }
        return Statement("leads_elsewhere", values)

    def _certainty(self, found: Led) -> Statement:
        members = [self._cells[key] for key in found.ranking.cells]
        values = {
            "blocks": self._fewest(found),
            "pairs": math.comb(len(members), 2),
            "anytime": any(cell.anytime for cell in members),
        }
        return Statement("few_blocks" if self._fewest(found) < FEWEST else "blocks", values)


def _left(found: Led) -> float | None:
    """The largest difference that is open between the first cell and others; None if unknown."""
    return next(p.may_differ for p in found.ranking.places if p.cell == found.lead.first)


def lead_values(found: Led) -> Values:
    """The leaders of a ranking, and the difference that is open between them."""
    return {
        "estimate": found.ranking.estimate,
        "first": found.lead.first,
        "tied": found.lead.tied,
        "may_differ": _left(found),
    }


def without_place(ranking: Ranking, mates: Iterable[CellSummary]) -> Mapping[str, Sequence[str]]:
    """The cells of a setting that its ranking lacks, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for each in unranked(ranking, mates):
        reason = "invalid"
        if each.verdict in ("valid", "at_least"):
            unlimited = ranking.estimate in each.unsaturated
            reason = "not_the_limit" if unlimited else "not_measured"
        by_reason.setdefault(reason, []).append(each.key)
    return by_reason
