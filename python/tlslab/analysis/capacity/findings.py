"""The findings and the answer of a capacity experiment: codes with their numbers.

Results of fewer than FEWEST repetitions give none; they are in the tables. The load that a search
found within the objective has no interval, and gives one. A bend and a growth are judged by the
ends of their intervals alone: three runs do.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tlslab.analysis.capacity.bend import BEND, bends
from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.figures import identifier
from tlslab.analysis.capacity.growth import LINEAR, growths
from tlslab.analysis.capacity.points import judged
from tlslab.analysis.capacity.ratios import over, ratios
from tlslab.analysis.capacity.remedies import Remedy
from tlslab.analysis.enough import FEWEST, again, minutes, too_few
from tlslab.analysis.ranking import differing
from tlslab.analysis.stats.estimate import spread_of_ratio
from tlslab.analysis.stats.families import LEVEL, holm
from tlslab.domain.capacity import CapacityPlan
from tlslab.domain.enough import too_wide
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CAPACITY,
    CONNECTIONS,
    RESPONSE,
    SERVER_COST,
    USERS_GAVE_UP,
    at_load,
    quantile,
    statistic,
)
from tlslab.domain.figure import Figure
from tlslab.domain.finding import Answer, Finding, Lacking, Note, Statement, Tile
from tlslab.domain.run import RunContents
from tlslab.domain.search import Inconclusive
from tlslab.domain.validation import results_words

_FEWEST_TILES = 3
_MOST_TILES = 5

Cells = Sequence[CapacityCell]


def findings(cells: Cells, plan: CapacityPlan, baseline: Mapping[str, str]) -> tuple[Finding, ...]:
    """The answer first, then ratios, growth, times, objective, remedies, validation, reason.

    `baseline`: the levels with which others are compared.
    """
    return (
        *_maxima([cell for cell in cells if cell.has_maximum]),
        *_generators(cells),
        *(
            Finding(kind, cells=(ratio.less.key, ratio.more.key), values=ratio.values)
            for kind, listed in ratios(cells, baseline).items()
            for ratio in listed
        ),
        *_growth(cells),
        *_latency(cells),
        *_patience(cells, plan),
        *_bend(cells),
        *_objective(cells, plan),
        *_remedies(cells),
        *_validation(cells),
        *_inconclusive(cells),
    )


def _maxima(able: Cells) -> Iterator[Finding]:
    """The maxima; then those that are not known, whose reasons are with the cells."""
    enough = [cell for cell in able if cell.is_enough]
    if enough:
        values = {
            "connections": [cell.connections for cell in enough],
            "bounds": [cell.is_bound for cell in enough],
            "open": [[] if cell.is_bound else cell.open for cell in enough],
        }
        yield Finding("answer", cells=tuple(cell.key for cell in enough), values=values)
    if open_ := tuple(cell.key for cell in able if cell.open):
        yield Finding("open", cells=open_)


def _generators(cells: Cells) -> Iterator[Finding]:
    """The number of generators that made the load of the maximum, and the limiting side."""
    for cell in cells:
        used = [len(trial.runs["maximum"].record.hosts) for trial in cell.of("maximum")]
        if any(used) and cell.has_maximum:
            values = {"generators": max(used), **asdict(cell.limit)}
            yield Finding("generators", cells=(cell.key,), values=values)


def _growth(cells: Cells) -> Iterator[Finding]:
    for each in growths(cells):
        values = {
            "ratio": each.ratio,
            "loads": each.loads,
            "within": LINEAR,
            "linear": each.is_linear,
            "shared": each.more.shared,
        }
        yield Finding("growth", cells=(each.fewer.key, each.more.key), values=values)


def _bend(cells: Cells) -> Iterator[Finding]:
    for cell in cells:
        if cell.has_maximum and (found := list(bends(cell.points))):
            values = {"times": BEND, "open": bool(cell.open), "bends": [vars(b) for b in found]}
            yield Finding("bend", cells=(cell.key,), values=values)


def _latency(cells: Cells) -> Iterator[Finding]:
    """Mean response times at the lowest and the highest load, judged together (Holm)."""
    said = [(cell, ends) for cell in cells if (ends := _ends(cell)) is not None]
    adjusted = holm([_p_value(*means) for _, (_, means) in said])
    for (cell, (loads, means)), p in zip(said, adjusted, strict=True):
        overloaded = {p.fraction for p in judged(cell.points) if p.verdict == "overloaded"}
        values = {
            "loads": loads,
            "means": means,
            "longer": longer(*means, p),
            "open": bool(cell.open),
            "overloaded": sorted(overloaded),
        }
        yield Finding("latency", cells=(cell.key,), values=values)


def _patience(cells: Cells, plan: CapacityPlan) -> Iterator[Finding]:
    """The share of users who gave up, at each load at which that was measured often enough."""
    rules = plan.open_loop
    for cell in cells:
        names = {f: at_load(USERS_GAVE_UP, f) for f in sorted({p.fraction for p in cell.points})}
        found = cell.summary.estimates
        gave_up = [(f, found[name]) for f, name in names.items() if name in found]
        enough = [(f, share) for f, share in gave_up if share.n >= FEWEST]
        if cell.has_maximum and enough:
            values = {
                "loads": [fraction for fraction, _ in enough],
                "shares": [share for _, share in enough],
                "patience_s": (rules.patience_ms or 0) / 1000,
                "retries": rules.retries,
                "bound": not rules.is_steady,
                "open": bool(cell.open),
            }
            yield Finding("patience", cells=(cell.key,), values=values)


def _ends(cell: CapacityCell) -> tuple[tuple[float, float], tuple[Estimate, Estimate]] | None:
    """The lowest and the highest load and the mean response times there.

    None with too little data.
    """
    loads = {p.fraction for p in judged(cell.points) if p.response.n}
    if len(loads) < 2 or not cell.has_maximum:
        return None
    ends = min(loads), max(loads)
    first, last = (cell.summary.estimates[at_load(statistic(RESPONSE, "mean"), f)] for f in ends)
    return (ends, (first, last)) if min(first.n, last.n) >= FEWEST else None


def _p_value(first: Estimate, last: Estimate) -> float:
    """The p-value of the difference of two means (Welch, on logarithms).

    1 if one has no interval.
    """
    spread = spread_of_ratio(first, last)
    return 1.0 if spread is None else spread.p_value(math.log(last.value / first.value))


def longer(first: Estimate, last: Estimate, p: float) -> bool | None:
    """Whether the second of two means is established to be longer; None if one has no interval.

    `p` is the p-value of their difference, adjusted for all pairs in the report.
    """
    if first.high is None or last.low is None:
        return None
    return last.low > first.high and p <= LEVEL


def _objective(cells: Cells, plan: CapacityPlan) -> Iterator[Finding]:
    for cell in cells:
        if plan.objective is None or not cell.loads or (cell.capacity and not cell.has_answer):
            continue
        values = {
            "objective": str(plan.objective),
            "capacity": cell.capacity,
            "share": cell.share if cell.is_enough else None,
            "open": bool(cell.open),
        }
        yield Finding("objective", cells=(cell.key,), values=values)


def _remedies(cells: Cells) -> Iterator[Finding]:
    """The gains from the remedies, judged together (Holm)."""
    said = [(cell, [r for r in cell.remedies if r.ratio and r.ratio.n >= FEWEST]) for cell in cells]
    known = [each for _, listed in said for each in listed if each.of_ratio != "unknown"]
    adjusted = holm([1.0 if each.p is None else each.p for each in known])
    differs = {id(each): p <= LEVEL for each, p in zip(known, adjusted, strict=True)}
    for cell, listed in said:
        if listed:
            reported = [
                {
                    "name": each.name,
                    "base": each.base,
                    "ratio": each.ratio,
                    "bound": each.of_ratio,
                    "established": differs.get(id(each), False) and _is_apart(each),
                    "plain": None if each.of_plain == "unknown" else each.over_plain,
                    "of_plain": each.of_plain,
                }
                for each in listed
            ]
            values = {"remedies": reported, "family": len(known)}
            yield Finding("remedies", cells=(cell.key,), values=values)


def _is_apart(remedy: Remedy) -> bool:
    """Whether the ratio's interval is apart from 1, on a side that its bound leaves."""
    ratio = remedy.ratio
    if ratio is None or ratio.low is None or ratio.high is None or ratio.low <= 1 <= ratio.high:
        return False
    open_ = {"at least": ratio.value < 1, "at most": ratio.value > 1}
    return not open_.get(remedy.of_ratio, False)


def _validation(cells: Cells) -> Iterator[Finding]:
    trials = [(cell.key, t) for cell in cells for t in cell.trials]
    made = [(key, t.validation) for key, t in trials if t.validation]
    failed = [
        trial.reason.message
        for cell in cells
        for trial in cell.trials
        if trial.factors.get("stage") == "validation" and trial.reason is not None
    ]
    if made:
        results = [result for _, result in made]
        delays = {t.factors.get("delay_ms") for _, t in trials if t.validation} - {None}
        values = {
            "results": results_words(results),
            "delays_ms": sorted(float(delay) for delay in delays if delay),
            "differing": [
                {"phase": p.phase, "quantile": c.quantile, "rate": r.achieved, "ratio": c.ratio}
                for r in results if r.valid for p in r.phases for c in p.comparisons
                if c.judged(r.resolution) == "differs"
            ],
        }  # fmt: skip
        keys = tuple(dict.fromkeys(key for key, _ in made))
        yield Finding("validation", cells=keys, values=values)
    elif failed:
        yield Finding("validation", values={"reason": failed[0]})


def _inconclusive(cells: Cells) -> Iterator[Finding]:
    for cell in cells:
        if isinstance(cell.search, Inconclusive):
            values = {"reason": cell.search.reason, "message": cell.search.message}
            yield Finding("inconclusive", cells=(cell.key,), values=values)


def answer(
    contents: RunContents,
    cells: Cells,
    plan: CapacityPlan,
    figures: Sequence[Figure],
) -> Answer:
    """The answer from the cell with the highest valid rate; a lower bound counts by its value."""
    able = [cell for cell in cells if cell.has_maximum]
    question = contents.experiment.title
    if not able:
        return Answer(question, lacking=Lacking(code="no_maximum"))
    able.sort(key=lambda cell: -(cell.maximum.value if cell.maximum else 0.0))
    best = able[0]
    lacking = _lacking(contents, able)
    within: tuple[Statement, ...] = ()
    if plan.objective is not None and best.has_answer:
        values = {
            "cell": best.key,
            "objective": str(plan.objective),
            "capacity": best.capacity,
        }
        within = (Statement("meets_objective", values),)
    statements = (_highest(able), *(_missing(cells) or within))
    if lacking:
        statements = within if best.searched else ()
    return Answer(
        question=question,
        statements=statements[:2],
        certainty=Statement(
            "certainty",
            {
                "n": len(best.values.get(CONNECTIONS, {})),
                "loads": len({point.fraction for point in best.points}),
                "pairs": len(able) * (len(able) - 1) // 2,
            },
        ),
        lacking=lacking,
        tiles=() if lacking else _tiles(best),
        figure=_shown(best, figures, ("maximum",) if lacking else ("achieved", "maximum")),
    )


def _lacking(contents: RunContents, able: Cells) -> Lacking | None:
    """The repetitions or precision that the cells in the answer lack; None if nothing."""
    n = min(len(cell.values.get(CONNECTIONS, {})) for cell in able)
    if n < FEWEST:
        return too_few(contents, max(1, n), "repetition")
    for cell in able:
        assert cell.maximum is not None
        if too_wide(cell.maximum.low, cell.maximum.high):
            return Lacking(
                command=again(contents, "--blocks", str(2 * n)),
                minutes=minutes(contents, 2.0),
                code="maximum_too_wide",
                values={"cell": cell.key},
            )
    return None


def _highest(able: Cells) -> Statement:
    """The highest rate, its ratio to the next known one, and cells that may take more."""
    best = able[0]
    values = {
        "cell": best.key,
        "bound": best.is_bound,
        "open": bool(best.open),
        "steady": best.is_steady,
        "rival": _rival(able),
        "others": [cell.key for cell in able[1:] if cell.open],
    }
    return Statement("highest_rate", values)


def _rival(able: Cells) -> Mapping[str, Any] | None:
    """The highest maximum over that of the next cell whose maximum is known.

    The rates select the two cells, therefore every pair of all cells is tested (Holm).
    """
    best = able[0]
    known = [number for number, cell in enumerate(able) if number and cell.is_comparable]
    if not known or not best.is_steady:
        return None
    rival = able[known[0]]
    paired = over(best, rival)
    if paired is None or paired.comparison.low is None:
        return {"cell": rival.key, "bound": rival.is_bound, "ratio": None}
    differs = differing([cell.measured for cell in able], CONNECTIONS)[0, known[0]] is not None
    return {
        "cell": rival.key,
        "ratio": paired.values["ratio"],
        "established": differs,
        "bound": not best.is_comparable,
        "may_differ": paired.comparison.may_differ,
    }


def _missing(cells: Cells) -> tuple[Statement, ...]:
    """The cells without a valid maximum, though their server does what they ask for."""
    without = [c for c in cells if not c.has_maximum and c.summary.verdict != "unsupported"]
    if not without:
        return ()
    values = {"cell": without[0].key, "why": _why_missing(without[0]), "others": len(without) - 1}
    return (Statement("no_valid_maximum", values),)


def _why_missing(cell: CapacityCell) -> Note:
    """The reason for a missing maximum: the cell's first failure, else its trials' fault."""
    if cell.summary.verdict == "failed":
        for trial in cell.trials:
            if trial.status == "failed" and trial.reason is not None:
                return Note(trial.reason.class_, trial.reason.message)
    notes = cell.summary.reasons
    of_maximum = [note for note in notes if note.of not in ("trial", "search")]
    return next(iter((*of_maximum, *notes)), Note(cell.summary.verdict, cell.summary.verdict))


def _tiles(cell: CapacityCell) -> tuple[Tile, ...]:
    estimates = cell.summary.estimates
    highest = max((point.fraction for point in cell.points), default=0.0)
    # The highest load below the highest offered one whose runs say something about the server.
    fraction = max((p.fraction for p in judged(cell.points) if p.fraction < highest), default=None)
    p50, p99 = (
        quantile(RESPONSE, p) if fraction is None else at_load(quantile(RESPONSE, p), fraction)
        for p in (50, 99)
    )
    where = "" if fraction is None else f", {fraction * 100:g} % load"
    label = cell.open_label
    maximum = f"New connections/s, {label}" if label else "Maximum, new connections/s"
    wanted = [
        (maximum, CONNECTIONS, cell.is_bound),
        ("Meets the objective, new connections/s", CAPACITY, True),
        (f"Response time p50{where}", p50, False),
        (f"Response time p99{where}", p99, False),
        ("Server's processor time", SERVER_COST, False),
    ]
    tiles = [
        Tile(title, estimates[name], bound) for title, name, bound in wanted if name in estimates
    ]
    return tuple(tiles[:_MOST_TILES]) if len(tiles) >= _FEWEST_TILES else ()


def _shown(best: CapacityCell, figures: Sequence[Figure], wanted: Sequence[str]) -> str:
    """The first of the wanted figures that exists for the best cell."""
    ids = [each.id for each in figures]
    named = (i for start in wanted for i in (start, identifier(start, best.name)) if i in ids)
    return next(named, "")
