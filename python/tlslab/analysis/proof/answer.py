"""The answer of a proof from its measurements, or what would suffice for one."""

import math
from collections.abc import Sequence, Set

from tlslab.analysis.enough import FEWEST, MOST, again, excluding_blocks, minutes, too_few
from tlslab.analysis.stats import sequence
from tlslab.analysis.stats.estimate import CONFIDENCE, Spread
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Answer, Lacking, Statement, Tile
from tlslab.domain.proof import Proof, ProofFigure
from tlslab.domain.proof_settings import DECIDING, Measure, needed
from tlslab.domain.run import RunContents

_FEWEST_TILES = 3
_TILES: dict[Measure, str] = {
    "connections": "Connections",
    "new": "New clients",
    "returning": "Returning clients",
    "requests": "Requests kept open",
    "handshake": "Handshake time, p99",
}


def answer(contents: RunContents, proof: Proof) -> Answer:
    """Verdict and figures; the advice adds the changes for clients."""
    blocks = max((each.n for each in proof.figures if each.decides), default=0)
    lacking = _lacking(contents, proof, blocks)
    return Answer(
        question=contents.experiment.title,
        statements=() if lacking else (Statement("decided"),),
        certainty=_certainty(proof, blocks),
        lacking=lacking,
        tiles=() if lacking else _tiles(proof.figures),
        figure="gains" if proof.figures else "",
    )


def _certainty(proof: Proof, blocks: int) -> Statement:
    if 0 < blocks < FEWEST:
        return Statement("few_blocks", {"blocks": blocks})
    family = sum(not each.why_open for each in proof.figures)
    return Statement("certainty", {"blocks": blocks, "family": family})


def _tiles(figures: Sequence[ProofFigure]) -> tuple[Tile, ...]:
    found = tuple(
        Tile(f"{_TILES[each.measure]}: times as good", as_estimate(each))
        for each in leading(figures)
    )
    return found if len(found) >= _FEWEST_TILES else ()


def leading(figures: Sequence[ProofFigure]) -> tuple[ProofFigure, ...]:
    """The ratio that decides each measure.

    A part of the mix has the same ratio as the mix.
    """
    deciding = {each.estimate for each in figures if each.decides}
    chosen: dict[Measure, ProofFigure] = {}
    for each in figures:
        earlier = chosen.get(each.measure)
        better = each.estimate in deciding and earlier and earlier.estimate not in deciding
        if not each.why_open and (earlier is None or better):
            chosen[each.measure] = each
    return tuple(chosen.values())


def as_estimate(found: ProofFigure) -> Estimate:
    """How many times as good the candidate is, with the interval that holds in the family."""
    return Estimate(found.better, found.low, found.high, found.n, "ratio", found.method)


def _lacking(contents: RunContents, proof: Proof, blocks: int) -> Lacking | None:
    """The reason for a missing verdict, and a run that would be long enough."""
    if 0 < blocks < FEWEST:
        return too_few(contents, blocks)
    if proof.verdict != "cannot_tell":
        return None
    deciding = [each for each in proof.figures if each.decides]
    undecided = set(needed(contents.experiment)) - {each.measure for each in deciding}
    if undecided:
        return _undecided(proof, undecided)
    gains = [each for each in deciding if each.direction == "gain"]
    open_ = [each for each in deciding if each.direction == "open" and not (gains and each.no_loss)]
    wanted = max(_wanted(each, proof.settings.margin) for each in open_)
    values = {
        "gains": _measures(gains),
        "open": _measures(open_),
        "may_differ": _may_differ(open_),
    }
    command = again(contents, "--blocks", str(wanted))
    return Lacking("", command, minutes(contents, wanted / blocks), code="open", values=values)


def _may_differ(figures: Sequence[ProofFigure]) -> float | None:
    """The largest difference that the ratios' own intervals leave open, as a share."""
    ends = [end for each in figures for end in (each.own_low, each.own_high)]
    known = [end for end in ends if end is not None and end > 0]
    return max(max(end, 1 / end) for end in known) - 1 if len(known) == len(ends) else None


def _measures(figures: Sequence[ProofFigure]) -> list[Measure]:
    return list(dict.fromkeys(each.measure for each in figures))


def _undecided(proof: Proof, undecided: Set[Measure]) -> Lacking:
    """The reasons that measures have no deciding ratio, and whether metrics would help."""
    open_ = {
        measure: [each for each in proof.figures if each.measure == measure]
        for measure in DECIDING
        if measure in undecided
    }
    unknown_cost = any(
        figures and not any(each.no_result for each in figures) for figures in open_.values()
    )
    values = {
        "measures": {
            measure: list(dict.fromkeys(each.why_open for each in figures))
            for measure, figures in open_.items()
        },
        "needs_metrics": unknown_cost and bool(proof.settings.apply),
    }
    return Lacking(code="undecided", values=values)


def _wanted(found: ProofFigure, margin: float) -> int:
    """The number of blocks that exclude a difference of the margin 9 times in 10, at this noise.

    The noise is derived from the ratio's own interval. A run of a fixed number of blocks has
    Student's interval, whichever interval this one has.
    """
    if found.own_low is None or found.own_high is None or found.own_low <= 0:
        return 2 * max(FEWEST, found.n)
    half = math.log(found.own_high / found.own_low) / 2
    noise = half / _unit_half_width(found)
    enough = excluding_blocks(noise, margin, len(DECIDING))
    return min(MOST, max(found.n + FEWEST, enough))


def _unit_half_width(found: ProofFigure) -> float:
    """Half the own interval of a ratio whose logarithms have a standard deviation of 1."""
    if found.before.anytime:
        return sequence.half_width(found.n, 1.0, 1 - CONFIDENCE) or math.inf
    return Spread(1.0, found.n - 1).quantile((1 + CONFIDENCE) / 2) / math.sqrt(found.n)
