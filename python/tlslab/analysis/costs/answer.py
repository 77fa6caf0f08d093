"""The answer of a calibration: the costs of a connection's parts, and the error of their sum."""

from collections.abc import Mapping, Sequence

from tlslab.analysis.costs.cost_parts import FULL, KILOBYTE, REQUEST, RESUMED
from tlslab.analysis.costs.cost_words import uncertain_words
from tlslab.analysis.costs.model import Check, CostModel
from tlslab.analysis.enough import DOTS_ONLY, FEWEST, again, minutes, too_few
from tlslab.domain.enough import too_wide
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Answer, Finding, Lacking, Tile
from tlslab.domain.leading import value_words
from tlslab.domain.run import RunContents
from tlslab.domain.wording import counted, joined

_WORDS = {FULL: "a full handshake", RESUMED: "a resumed one", REQUEST: "a request"}
_TILES = {
    FULL: "Full handshake",
    RESUMED: "Resumed handshake",
    REQUEST: "Request",
    KILOBYTE: "1,000 bytes sent",
}


def answer(
    contents: RunContents,
    model: CostModel | None,
    checks: Sequence[Check],
    found: Sequence[Finding],
) -> Answer:
    """The parts in one sentence, the model's error in another."""
    question = contents.experiment.title
    if model is None or FULL not in model.parts:
        why = "No block has a result of every cell: there is no cost model."
        if model is not None:
            why = "These cells do not identify the cost of a full handshake."
        return Answer(question, (), "", Lacking(why))
    parts = {name: model.part(name) for name in _TILES if name in model.parts}
    n = parts[FULL].n
    lacking = None
    implausible = next((each.text for each in found if each.code == "implausible_bytes"), "")
    if n < FEWEST:
        lacking = too_few(contents, max(1, n))
    elif implausible:
        lacking = Lacking(implausible, again(contents, "--blocks", str(2 * n)))
    elif too_wide(parts[FULL].low, parts[FULL].high):
        why = "The interval of the cost of a full handshake is too wide for a sentence."
        lacking = Lacking(why, again(contents, "--blocks", str(2 * n)), minutes(contents, 2.0))
    costs = [
        f"{words} {uncertain_words(parts[name]) or value_words(parts[name])}"
        for name, words in _WORDS.items()
        if name in parts
    ]
    server = contents.environment.target.name
    first = f"Processor time on {server}: {joined(costs)}."
    errors = tuple(each.text for each in found if each.code in ("model_error", "model_unchecked"))
    return Answer(
        question=question,
        sentences=() if lacking else (first, *errors)[:2],
        confidence=f"{counted(n, 'block')}: a fit for each; intervals of 95 % over blocks"
        if n >= FEWEST
        else f"{counted(n, 'block')}: {DOTS_ONLY}",
        lacking=lacking,
        tiles=() if lacking else _tiles(parts),
        figure="held-out" if checks else "",
    )


def _tiles(parts: Mapping[str, Estimate]) -> tuple[Tile, ...]:
    """The parts that are known well enough for a tile."""
    return tuple(
        Tile(_TILES[name], part) for name, part in parts.items() if not uncertain_words(part)
    )
