"""The answer of a proof from its measurements, or what would suffice for one."""

import math
from collections.abc import Sequence, Set

from tlslab.analysis.enough import DOTS_ONLY, FEWEST, again, minutes, too_few
from tlslab.analysis.proof.deciding_ratios import NO_RESULT
from tlslab.analysis.stats import sequence
from tlslab.analysis.stats.estimate import CONFIDENCE, SEQUENCE, Spread
from tlslab.analysis.stats.power import excludable
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Answer, Lacking, Tile
from tlslab.domain.proof import Proof, ProofFigure
from tlslab.domain.proof_settings import DECIDING, Measure, needed
from tlslab.domain.proof_words import MEASURES, decided_words
from tlslab.domain.run import RunContents
from tlslab.domain.wording import counted, difference, percent_as_given

_MOST_BLOCKS = 200
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
        sentences=() if lacking else (decided_words(proof),),
        confidence=_confidence(proof, blocks),
        lacking=lacking,
        tiles=() if lacking else _tiles(proof.figures),
        figure="gains" if proof.figures else "",
    )


def _confidence(proof: Proof, blocks: int) -> str:
    if 0 < blocks < FEWEST:
        return f"{counted(blocks, 'block')}: {DOTS_ONLY}"
    family = sum(not each.why_open for each in proof.figures)
    return (
        f"{counted(blocks, 'block')}; intervals of 95 % over a family of {family} ratios; less "
        f"than {percent_as_given(proof.settings.margin)} counts as no difference"
    )


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
        return Lacking(_why_undecided(proof, undecided))
    gains = [each for each in deciding if each.direction == "gain"]
    open_ = [each for each in deciding if each.direction == "open" and not (gains and each.no_loss)]
    wanted = max(_wanted(each, proof.settings.margin) for each in open_)
    most, names = percent_as_given(proof.settings.margin), _names(open_)
    why = f"Neither a gain nor a loss is established, and a difference of more than {most} is not "
    why += f"excluded: {names}."
    if gains:
        why = f"A gain is established for {_names(gains)}; a loss of more than {most} is not "
        why += f"excluded for {names}."
    elif (left := _may_differ(open_)) is not None:
        why += f" They may differ by up to {difference(left)}."
    command = again(contents, "--blocks", str(wanted))
    return Lacking(why, command, minutes(contents, wanted / blocks))


def _may_differ(figures: Sequence[ProofFigure]) -> float | None:
    """The largest difference that the ratios' own intervals leave open, as a share."""
    ends = [end for each in figures for end in (each.own_low, each.own_high)]
    known = [end for end in ends if end is not None and end > 0]
    return max(max(end, 1 / end) for end in known) - 1 if len(known) == len(ends) else None


def _names(figures: Sequence[ProofFigure]) -> str:
    return ", ".join(dict.fromkeys(MEASURES[each.measure] for each in figures))


def _why_undecided(proof: Proof, undecided: Set[Measure]) -> str:
    """The reasons that measures have no deciding ratio, and the remedy."""
    parts = []
    unknown_cost = False
    for measure in (each for each in DECIDING if each in undecided):
        reasons = [each.why_open for each in proof.figures if each.measure == measure]
        invalid = any(each.startswith(NO_RESULT) for each in reasons)
        unknown_cost = unknown_cost or bool(reasons and not invalid)
        words = "; ".join(dict.fromkeys(reasons)) or "no result of both configurations"
        parts.append(f"{MEASURES[measure]} ({words})")
    remedy = ""
    if unknown_cost and proof.settings.apply:
        remedy = " Give the live server's processor time: --server-metrics URL."
    return f"Nothing can decide: {', '.join(parts)}.{remedy}"


def _wanted(found: ProofFigure, margin: float) -> int:
    """The number of blocks that exclude a difference of the margin 9 times in 10, at this noise.

    The noise is derived from the ratio's own interval. A run of a fixed number of blocks has
    Student's interval, whichever interval this one has.
    """
    if found.own_low is None or found.own_high is None or found.own_low <= 0:
        return 2 * max(FEWEST, found.n)
    half = math.log(found.own_high / found.own_low) / 2
    noise = half / _unit_half_width(found)
    measures = len(DECIDING)
    enough = (n for n in range(FEWEST, _MOST_BLOCKS) if excludable(noise, n, measures) <= margin)
    return min(_MOST_BLOCKS, max(found.n + FEWEST, next(enough, _MOST_BLOCKS)))


def _unit_half_width(found: ProofFigure) -> float:
    """Half the own interval of a ratio whose logarithms have a standard deviation of 1."""
    if SEQUENCE in found.method:
        return sequence.half_width(found.n, 1.0, 1 - CONFIDENCE) or math.inf
    return Spread(1.0, found.n - 1).quantile((1 + CONFIDENCE) / 2) / math.sqrt(found.n)
