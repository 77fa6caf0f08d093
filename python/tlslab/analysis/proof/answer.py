"""The answer of a proof by its measurements, or what would be enough for one."""

import math
from collections.abc import Sequence

from tlslab.analysis.enough import FEWEST, again, minutes, too_few
from tlslab.analysis.stats.power import detectable
from tlslab.model.answer import Answer, Lacking, Tile
from tlslab.model.estimate import Estimate
from tlslab.model.proof import Measure, Proof, ProofFigure
from tlslab.model.proof_words import MEASURES, decided_words
from tlslab.model.run import RunContents
from tlslab.model.wording import counted, percent

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
    """Verdict and figures; the advice adds what changes for clients."""
    blocks = max((each.n for each in proof.figures if each.decides), default=0)
    lacking = _lacking(contents, proof, blocks)
    family = sum(not each.why_open for each in proof.figures)
    return Answer(
        question=contents.experiment.title,
        sentences=() if lacking else (decided_words(proof),),
        confidence=f"{counted(blocks, 'block')}; intervals of 95 % over a family of {family} "
        f"ratios; less than {percent(proof.settings.margin)} counts as no difference",
        lacking=lacking,
        tiles=() if lacking else _tiles(proof.figures),
        figure="gains" if proof.figures else "",
    )


def _tiles(figures: Sequence[ProofFigure]) -> tuple[Tile, ...]:
    found = tuple(
        Tile(f"{_TILES[each.measure]}: times as good", as_estimate(each))
        for each in leading(figures)
    )
    return found if len(found) >= _FEWEST_TILES else ()


def leading(figures: Sequence[ProofFigure]) -> tuple[ProofFigure, ...]:
    """The ratio of each measure by which that is judged."""
    first: dict[Measure, ProofFigure] = {}
    for each in figures:
        if not each.why_open:
            first.setdefault(each.measure, each)
    return tuple(first.values())


def as_estimate(found: ProofFigure) -> Estimate:
    """How many times as good the candidate is, with the interval that holds in the family."""
    return Estimate(found.better, found.low, found.high, found.n, "ratio", found.method)


def _lacking(contents: RunContents, proof: Proof, blocks: int) -> Lacking | None:
    """Why there is no verdict, and which run would be long enough."""
    if not blocks:
        why = "No measure has a result of both configurations: see the warnings."
        return Lacking(why)
    if blocks < FEWEST:
        return too_few(contents, blocks)
    if proof.verdict != "cannot_tell":
        return None
    deciding = [each for each in proof.figures if each.decides]
    open_ = [each for each in deciding if each.direction == "open"]
    if not open_:
        why = "A measure has no ratio that could decide: see the table."
        return Lacking(why)
    wanted = max(_wanted(each, proof.settings.margin) for each in open_)
    names = ", ".join(dict.fromkeys(MEASURES[each.measure] for each in open_))
    why = (
        f"Neither a gain nor a loss is established, and a difference of more than "
        f"{percent(proof.settings.margin)} is not excluded: {names}."
    )
    command = again(contents, "--blocks", str(wanted))
    return Lacking(why, command, minutes(contents, wanted / blocks))


def _wanted(found: ProofFigure, margin: float) -> int:
    """The blocks that exclude or establish a difference of the margin, at this noise.

    The noise is read off the ratio's own interval, as if it were Student's.
    """
    if found.own_low is None or found.own_high is None or found.own_low <= 0:
        return 2 * max(FEWEST, found.n)
    half = math.log(found.own_high / found.own_low) / 2
    noise = half * math.sqrt(found.n) / 2
    enough = (n for n in range(FEWEST, _MOST_BLOCKS) if detectable(noise, n) <= margin)
    return min(_MOST_BLOCKS, max(found.n + FEWEST, next(enough, _MOST_BLOCKS)))
