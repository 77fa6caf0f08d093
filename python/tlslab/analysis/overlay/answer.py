"""The answer of a comparison of two runs: no difference, or which differences, and how large."""

from collections.abc import Sequence

from tlslab.analysis.enough import AIM, DOTS_ONLY, FEWEST, OWN
from tlslab.model.answer import Answer, Lacking, Tile
from tlslab.model.commands import without_options
from tlslab.model.enough import WIDE
from tlslab.model.estimate import Estimate
from tlslab.model.estimates import estimate_name
from tlslab.model.finding import Comparison
from tlslab.model.wording import counted, difference, ratio_figure

# The most differences that are named; the rest is counted.
_NAMED = 2
_MOST_TILES = 5
_FEWEST_TILES = 3

# Why a ratio cannot be judged; the table says it of each.
_REASONS = (
    "lower bounds, searches that were inconclusive or disturbed, no valid result, or another way "
    "to measure"
)

# A cell's label, and a ratio of it.
Labelled = tuple[str, Comparison]


def answer(
    names: tuple[str, str],
    found: Sequence[Labelled],
    figure: str,
    command: Sequence[str],
    missing: int = 0,
) -> Answer:
    """`names` are those of the first run and the second; ratios are second over first.

    `command` is the first run's, which is enough with more blocks, once for each side. Of `missing`
    ratios one side has no value.
    """
    first, second = names
    question = f"Does {second} differ from {first}?"
    judged = [each for each in found if each[1].verdict != "not_comparable"]
    unjudged = len(found) - len(judged) + missing
    if not judged:
        why = f"No ratio can be judged: {_REASONS}."
        return Answer(question, (), "", Lacking(why), (), figure)
    n = min(comparison.n for _, comparison in judged)
    confidence = (
        f"{counted(len(judged), 'ratio')} tested together at 5 % (false discovery rate); "
        f"{counted(n, 'trial')} of each cell at least; intervals of 95 %"
    )
    if n < FEWEST:
        why = f"{counted(n, 'trial')} of a cell: fewer than {FEWEST} carry no sentence."
        again = (*without_options(command, OWN), "--blocks", str(2 * FEWEST))
        said = f"{counted(n, 'trial')} of each cell at least: {DOTS_ONLY}"
        return Answer(question, (), said, Lacking(why, again, few=True), (), figure)
    differing = sorted(
        (each for each in judged if each[1].differs), key=lambda each: -_size(each[1])
    )
    lacking = None if differing else _lacking(judged, (*without_options(command, OWN),))
    sentences = () if lacking else _sentences(names, judged, differing, unjudged)
    tiles = [] if lacking else [_tile(*each) for each in differing or judged]
    shown = tuple(tiles[:_MOST_TILES]) if len(tiles) >= _FEWEST_TILES else ()
    return Answer(question, sentences, confidence, lacking, shown, figure)


def _size(found: Comparison) -> float:
    """How many times, whichever side is greater."""
    return max(found.ratio, 1 / found.ratio)


def _lacking(judged: Sequence[Labelled], command: tuple[str, ...]) -> Lacking | None:
    """No difference is established; whether that says anything is a matter of the intervals."""
    left = [c.may_differ for _, c in judged if c.may_differ is not None]
    if left and max(left) <= WIDE - 1:
        return None
    open_ = f"; they may differ by up to {difference(max(left))}" if left else ""
    why = f"No difference is established, but the intervals are wide{open_}."
    return Lacking(why, (*command, "--until", f"{AIM:.0%}"))


def _sentences(
    names: tuple[str, str],
    judged: Sequence[Labelled],
    differing: Sequence[Labelled],
    unjudged: int,
) -> tuple[str, ...]:
    first, second = names
    alike = [each for each in judged if not each[1].differs]
    left = [c.may_differ for _, c in alike if c.may_differ is not None]
    bound = difference(max(left)) if left else ""
    rest = (f"{_unjudged_words(unjudged)}.",) if unjudged else ()
    if not differing:
        where = " in what can be judged" if unjudged else ""
        text = f"No difference is established{where}: {second} is within {bound} of {first}."
        return (text, *rest)
    named = _named(judged, differing)
    if len(differing) > len(alike) > 0:
        most = "; ".join(named[:_NAMED])
        of = f"{len(differing)} of {counted(len(judged), 'ratio')}"
        return (f"{second} differs from {first} in {of}, most in {most}.", *rest)
    more = len(named) - _NAMED
    listed = "; ".join(
        [*named[:_NAMED], *([f"and {counted(more, 'more ratio')}"] if more > 0 else [])]
    )
    if not alike:
        what = "Every ratio that can be judged" if unjudged else "Every ratio"
        return (f"{what} differs: {listed}.", *rest)
    text = f"No difference is established in {counted(len(alike), 'other ratio')}"
    text += f" (by {bound} at most)" if bound else ""
    text += f"; {_unjudged_words(unjudged)}" if unjudged else ""
    differ = "differs" if len(differing) == 1 else "differ"
    of = f"{len(differing)} of {counted(len(judged), 'ratio')}"
    return (f"{of} {differ}: {listed}.", f"{text}.")


def _named(judged: Sequence[Labelled], differing: Sequence[Labelled]) -> list[str]:
    """The differences in words, with their cells where there are several."""
    several = len({label for label, _ in judged}) > 1
    return [_words(label if several else "", comparison) for label, comparison in differing]


def _unjudged_words(count: int) -> str:
    """The ratios that are neither alike nor different, without a full stop."""
    ratios = counted(count, "ratio")
    return f"{ratios} cannot be judged: {_REASONS}"


def _words(label: str, found: Comparison) -> str:
    """`response time p99 at 40 % of the maximum: 1.3 times (95 %: 1.1 to 1.5)`."""
    where = f", {label}" if label else ""
    ends = ""
    if found.low is not None and found.high is not None:
        ends = f" (95 %: {ratio_figure(found.low)} to {ratio_figure(found.high)})"
    return f"{estimate_name(found.estimate)}{where}: {ratio_figure(found.ratio)} times{ends}"


def _tile(label: str, found: Comparison) -> Tile:
    name = estimate_name(found.estimate)
    title = f"{name[:1].upper()}{name[1:]}: {label}"
    ratio = Estimate(found.ratio, found.low, found.high, found.n, "ratio", found.method)
    return Tile(title, ratio)
