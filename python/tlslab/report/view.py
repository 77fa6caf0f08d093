"""What page and terminal show, picked from a summary: sections, rows, findings, in their order."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CLIENT_COST,
    CLIENT_LIMIT,
    CONNECTIONS,
    CONNECTIONS_PER_CPU,
    OPEN_REQUESTS,
    SERVER_COST,
    SERVER_LIMIT,
)
from tlslab.domain.experiment import is_ranked
from tlslab.domain.figure import Figure
from tlslab.domain.finding import (
    CellSummary,
    Comparison,
    Finding,
    Published,
    Ranking,
    RankRange,
    Summary,
)
from tlslab.domain.wording import (
    cell_label,
    difference,
    figure,
    ratio_figure,
    setting_of,
)
from tlslab.report.few_trials import Dot, DotRatio
from tlslab.words.answer import NOT_ENOUGH
from tlslab.words.cautions import VERDICTS
from tlslab.words.numbers import NO_INTERVAL, range_words, rank_words
from tlslab.words.sentence import varied_label

LIMITS = {CLIENT_COST: CLIENT_LIMIT, SERVER_COST: SERVER_LIMIT}


@dataclass(frozen=True)
class Value:
    """A figure, its interval in words (empty when there is none), and how both were made."""

    text: str
    interval: str = ""
    method: str = ""


@dataclass(frozen=True)
class Row:
    """One cell in its section's table; `place` is None for cells that are not ranked.

    `comparison`: with the baseline, by the estimate of the section's ratios.
    """

    cell: CellSummary
    name: str
    place: RankRange | None
    comparison: Comparison | None
    is_baseline: bool

    @property
    def rank(self) -> str:
        """The open ranks; empty without a place."""
        return "" if self.place is None else rank_words(self.place.best, self.place.worst)

    @property
    def leads(self) -> bool:
        """Whether no other cell is detectably better."""
        return self.place is not None and self.place.best == 1

    @property
    def ratio(self) -> Value | None:
        """The ratio to the baseline; None without a comparable one."""
        found = _comparable(self.comparison)
        return None if found is None else ratio_value(found)

    @property
    def undecided(self) -> str:
        """What the ratio leaves open where it establishes no difference."""
        return "" if self.comparison is None else undecided(self.comparison)

    @property
    def verdict(self) -> str:
        """The cell's verdict in words."""
        return VERDICTS[self.cell.verdict]

    def limit(self, cost: str) -> Value | None:
        """How many times the sum of its primitives a side needs, in words; None if not known."""
        found = self.cell.estimates.get(LIMITS[cost])
        if found is None:
            return None
        how = (
            f"{ratio_figure(found.value)} times the sum of the primitives that this side of the "
            "connection cannot do without (key exchange, signature, hash and key schedule, "
            "records, bare TCP connection), each as the faster of two libraries does it on this "
            f"machine; {found.method}; n = {found.n}"
        )
        return Value(f"{ratio_figure(found.value)} × limit", "", how)

    def mega(self, estimate: str) -> Value | None:
        """An estimate in millions."""
        return self.value(estimate, 1e-6)

    def value(self, estimate: str, scale: float = 1.0) -> Value | None:
        """An estimate of the cell, for showing; a client-saturated rate gets its sign."""
        found = self.cell.estimates.get(estimate)
        if found is None:
            return None
        if scale != 1.0:
            ends = (None if end is None else end * scale for end in (found.low, found.high))
            low, high = ends
            found = replace(found, value=found.value * scale, low=low, high=high)
        shown = value(found)
        if self.cell.is_bound(estimate):
            return Value(f"≥ {shown.text}", "", "the generator was the limit: a lower bound")
        return shown


@dataclass(frozen=True)
class Section:
    """The cells that share a setting, best first, and what was found about them."""

    id: str
    label: str
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    kept_open: tuple[Row, ...] = ()

    def reported(self, finding: Finding) -> str:
        """A finding under the section's heading: without the heading's own words."""
        text = finding.text.removeprefix(f"{self.label}: ")
        return text[:1].upper() + text[1:]

    @property
    def measured(self) -> tuple[Row, ...]:
        """The rows that have estimates."""
        return tuple(row for row in self.rows if row.cell.estimates)


@dataclass(frozen=True)
class PublishedRow:
    """A study's ratio beside ours: by the server's rate, and by the processor time of both sides.

    Ours are None where they cannot be compared.
    """

    name: str
    setting: str
    study: float
    ours: Comparison | None
    ours_both: Comparison | None


def value(found: Estimate) -> Value:
    """An estimate in figures; two values have an interval that says nothing."""
    if found.n == 2 and found.low != found.high:
        return Value(figure(found.value), "2 trials", f"{found.method}; n = 2")
    return _value(figure, found.value, found)


def ratio_value(found: Comparison) -> Value:
    """A ratio in figures, with as many digits as its interval needs."""
    wide = found.low is None or found.high is None or found.high - found.low >= 0.015
    write = ratio_figure if wide else "{:.3f}".format
    return _value(write, found.ratio, found)


def _value(write: Callable[[float], str], centre: float, found: Estimate | Comparison) -> Value:
    """A figure with its interval; one without width is not shown."""
    method = f"{found.method}; n = {found.n}"
    if found.low is None or found.high is None:
        return Value(write(centre), NO_INTERVAL if lacks_interval(found) else "", method)
    reported = range_words(write(found.low), write(found.high)) if found.low < found.high else ""
    return Value(write(centre), reported, method)


def lacks_interval(found: Estimate | Comparison) -> bool:
    """Whether there is no interval, of one that might have been shown."""
    return (found.low is None or found.high is None) and not isinstance(found, Dot | DotRatio)


def sections(summary: Summary) -> tuple[Section, ...]:
    """One section for each setting, in the order of the plan; none for kinds without a ranking."""
    if not is_ranked(summary.experiment.kind):
        return ()
    baseline = summary.experiment.baseline
    members: dict[str, list[CellSummary]] = {}
    for cell in summary.cells:
        members.setdefault(cell_label(setting_of(cell.factors, baseline)), []).append(cell)
    return tuple(
        _section(summary, f"setting-{index}", label, cells)
        for index, (label, cells) in enumerate(members.items(), start=1)
    )


def _section(summary: Summary, id_: str, label: str, cells: list[CellSummary]) -> Section:
    keys = {cell.key for cell in cells}
    ranking = _ranking(summary, keys, (CONNECTIONS, SERVER_COST, CLIENT_COST))
    open_ranking = _ranking(summary, keys, (OPEN_REQUESTS,))
    open_cells = [cell for cell in cells if OPEN_REQUESTS in cell.estimates]
    return Section(
        id=id_,
        label=label,
        rows=_rows(summary, cells, ranking, CONNECTIONS),
        findings=tuple(f for f in summary.findings if f.cells and keys.issuperset(f.cells)),
        kept_open=_rows(summary, open_cells, open_ranking, OPEN_REQUESTS),
    )


def _ranking(summary: Summary, keys: set[str], estimates: tuple[str, ...]) -> Ranking | None:
    """The ranking of these cells by the first of the estimates that has one."""
    for estimate in estimates:
        for ranking in summary.rankings:
            if ranking.estimate == estimate and keys.issuperset(ranking.cells):
                return ranking
    return None


def _rows(
    summary: Summary, cells: list[CellSummary], ranking: Ranking | None, estimate: str
) -> tuple[Row, ...]:
    """The ranked cells in their order, then the others."""
    places = {} if ranking is None else {place.cell: place for place in ranking.places}
    order = {key: number for number, key in enumerate(places)}
    ordered = sorted(cells, key=lambda cell: order.get(cell.key, len(cells)))
    return tuple(_row(summary, cell, places.get(cell.key), estimate) for cell in ordered)


def _row(summary: Summary, cell: CellSummary, place: RankRange | None, estimate: str) -> Row:
    baseline = summary.experiment.baseline
    return Row(
        cell=cell,
        name=varied_label(cell.factors, baseline),
        place=place,
        comparison=find_comparison(summary, cell.key, estimate),
        is_baseline=all(cell.factors.get(name) == level for name, level in baseline.items()),
    )


def undecided(comparison: Comparison) -> str:
    """What a ratio leaves open where it establishes no difference; empty where it does."""
    left = comparison.may_differ
    if comparison.verdict == "equivalent" and left is not None:
        return f"at most {difference(left)}"
    return "cannot tell" if comparison.verdict == "cannot_tell" else ""


def find_comparison(summary: Summary, candidate: str, estimate: str) -> Comparison | None:
    """The comparison of a cell with its baseline by one estimate."""
    for comparison in summary.comparisons:
        if comparison.candidate == candidate and comparison.estimate == estimate:
            return comparison
    return None


def published(summary: Summary) -> tuple[Published | None, tuple[PublishedRow, ...]]:
    """The study, and its ratios beside ours, the study's best first; None when there is none."""
    found = [
        c for c in summary.comparisons if c.published is not None and c.estimate == CONNECTIONS
    ]
    if not found:
        return None, ()
    rows = []
    for comparison in sorted(found, key=lambda c: -c.published.ratio if c.published else 0.0):
        cell = summary.cell(comparison.candidate)
        both = find_comparison(summary, cell.key, CONNECTIONS_PER_CPU)
        rows.append(
            PublishedRow(
                name=varied_label(cell.factors, summary.experiment.baseline),
                setting=cell_label(setting_of(cell.factors, summary.experiment.baseline)),
                study=comparison.published.ratio if comparison.published else 0.0,
                ours=_comparable(comparison),
                ours_both=_comparable(both),
            )
        )
    return found[0].published, tuple(rows)


def studied(summary: Summary) -> dict[str, str]:
    """The published ratio of each cell, by its key; none if its levels are not the study's."""
    if any(part.startswith("--set") for part in summary.environment.command):
        return {}
    return {
        found.candidate: ratio_figure(found.published.ratio)
        for found in summary.comparisons
        if found.published is not None and found.estimate == CONNECTIONS
    }


def _comparable(found: Comparison | None) -> Comparison | None:
    return found if found and found.verdict != "not_comparable" else None


def headline(summary: Summary, shown: tuple[Section, ...]) -> str:
    """The first answer; else what stands in its way."""
    reported = (
        [f for section in shown for f in section.findings] if shown else list(summary.findings)
    )
    for finding in reported:
        if finding.code == "answer":
            return finding.text
    if summary.answer is not None and summary.answer.lacking is not None:
        return f"{NOT_ENOUGH} {summary.answer.lacking.why}"
    if shown:
        return "No cell could be ranked: the table and the warnings below say why."
    return reported[0].text if reported else "Nothing was found: the warnings below say why."


def general_findings(summary: Summary, shown: tuple[Section, ...]) -> tuple[Finding, ...]:
    """The findings that no section shows; of a ranking's, those about no cell are warnings."""
    within = {finding for section in shown for finding in section.findings}
    ranked = is_ranked(summary.experiment.kind)
    return tuple(f for f in summary.findings if f not in within and (f.cells or not ranked))


def answering_figure(summary: Summary) -> Figure | None:
    """The figure that shows the answer."""
    wanted = "" if summary.answer is None else summary.answer.drawn
    return next((each for each in summary.figures if each.id == wanted), None)
