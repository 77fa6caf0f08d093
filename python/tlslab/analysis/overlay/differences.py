"""The answer of a comparison of two runs: no difference, or the differences and their sizes."""

from collections.abc import Sequence

from tlslab.analysis.enough import AIM, DOTS_ONLY, FEWEST, OWN
from tlslab.domain.command_line import without_options
from tlslab.domain.enough import WIDE
from tlslab.domain.estimates import estimate_name, quantity
from tlslab.domain.finding import Answer, Comparison, Lacking, Tile
from tlslab.domain.wording import capital, counted, difference, ratio_figure

# The largest number of differences that are named; the others are counted.
_NAMED = 2
_MOST_TILES = 5
_FEWEST_TILES = 3

# The reasons that a ratio cannot be judged; the table gives the reason of each.
_REASONS = (
    "lower bounds, searches that were inconclusive or disturbed, no valid result, or another way "
    "to measure"
)

# A cell's label, and one of its ratios.
Labelled = tuple[str, Comparison]


def answer(
    names: tuple[str, str],
    found: Sequence[Labelled],
    figure: str,
    command: Sequence[str],
    missing: int = 0,
    until: bool = True,
) -> Answer:
    """The answer; `names` are the first run and the second, ratios are second over first.

    `command` is the first run's: repeated with more blocks, once for each side, it would suffice.
    Of `missing` ratios one side has no value. `until`: such a run can end when its answer is known.
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
    # Differences of about the same size keep the order of the table: rates first.
    differing = sorted(
        (each for each in judged if each[1].differs), key=lambda each: -round(_size(each[1]), 1)
    )
    longer = ("--until", f"{AIM:.0%}") if until else ("--blocks", str(2 * n))
    again = (*without_options(command, OWN), *longer)
    lacking = None if differing else _lacking(judged, again)
    sentences = () if lacking else _sentences(names, judged, differing, unjudged)
    tiles = [] if lacking else [_tile(*each) for each in differing or judged]
    shown = tuple(tiles[:_MOST_TILES]) if len(tiles) >= _FEWEST_TILES else ()
    return Answer(question, sentences, confidence, lacking, shown, figure)


def _size(found: Comparison) -> float:
    """The ratio of the greater side to the smaller."""
    return max(found.ratio, 1 / found.ratio)


def _is_known(found: Comparison) -> bool:
    """Whether a ratio without an established difference is known to be near 1."""
    return found.may_differ is not None and found.may_differ <= WIDE - 1


def _lacking(judged: Sequence[Labelled], again: tuple[str, ...]) -> Lacking | None:
    """The lack of an answer without established differences; None if the rates' intervals suffice.

    Times and amounts with wide intervals are mentioned in the answer itself.
    """
    open_ = [c for _, c in judged if not _is_known(c)]
    if not any(quantity(c.estimate).is_bounded for c in open_) and len(open_) < len(judged):
        return None
    why = "No difference is established, but the intervals are wide"
    return Lacking(f"{why}{_up_to('; they', open_)}.", again)


def _up_to(subject: str, open_: Sequence[Comparison]) -> str:
    """` may differ by up to 80 %`, to follow its subject; empty if an interval is missing."""
    left = [c.may_differ for c in open_ if c.may_differ is not None]
    if len(left) < len(open_):
        return ""
    return f"{subject} may differ by up to {difference(max(left))}"


def _sentences(
    names: tuple[str, str],
    judged: Sequence[Labelled],
    differing: Sequence[Labelled],
    unjudged: int,
) -> tuple[str, ...]:
    first, second = names
    alike = [c for _, c in judged if not c.differs]
    known, open_ = [c for c in alike if _is_known(c)], [c for c in alike if not _is_known(c)]
    if not differing:
        where = " in what can be judged" if unjudged else ""
        if open_:
            where = f" in {len(known)} of {counted(len(judged), 'ratio')}"
        rest = _rest_words((), open_, unjudged)
        bound = f"{second} is within {_bound(known)} of {first}{_by_rates(known)}"
        return (f"No difference is established{where}: {bound}.", *rest)
    named = _named(judged, differing)
    of = f"{len(differing)} of {counted(len(judged), 'ratio')}"
    if len(differing) > len(alike) > 0:
        most = "; ".join(named[:_NAMED])
        rest = _rest_words((), (), unjudged)
        return (f"{second} differs from {first} in {of}, most in {most}.", *rest)
    more = len(named) - _NAMED
    listed = "; ".join(
        [*named[:_NAMED], *([f"and {counted(more, 'more ratio')}"] if more > 0 else [])]
    )
    rest = _rest_words(known, open_, unjudged)
    if not alike:
        what = "Every ratio that can be judged" if unjudged else "Every ratio"
        return (f"{what} differs: {listed}.", *rest)
    differ = "differs" if len(differing) == 1 else "differ"
    return (f"{of} {differ}: {listed}.", *rest)


def _bound(known: Sequence[Comparison]) -> str:
    """The largest difference left open; each of these ratios leaves a bounded one."""
    return difference(max(c.may_differ or 0.0 for c in known))


def _by_rates(known: Sequence[Comparison]) -> str:
    """The bound of the rates, if it is narrower than that of all ratios."""
    rates = [c for c in known if quantity(c.estimate).is_bounded]
    if not rates or _bound(rates) == _bound(known):
        return ""
    return f", by its rates within {_bound(rates)}"


def _rest_words(
    known: Sequence[Comparison], open_: Sequence[Comparison], unjudged: int
) -> tuple[str, ...]:
    """A sentence on the ratios without a difference: bounded, open, or not judged."""
    parts = []
    if known:
        parts.append(
            f"no difference is established in {counted(len(known), 'other ratio')} "
            f"(by {_bound(known)} at most)"
        )
    if open_:
        of = f"of {counted(len(open_), 'other ratio')} nothing is known"
        parts.append(of + _up_to(": it" if len(open_) == 1 else ": they", open_))
    if unjudged:
        parts.append(_unjudged_words(unjudged))
    text = "; ".join(parts)
    return (f"{capital(text)}.",) if text else ()


def _named(judged: Sequence[Labelled], differing: Sequence[Labelled]) -> list[str]:
    """The differences in words, with their cells if there are several."""
    several = len({label for label, _ in judged}) > 1
    return [_words(label if several else "", comparison) for label, comparison in differing]


def _unjudged_words(count: int) -> str:
    """The number of ratios that cannot be judged, without a full stop."""
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
    title = f"{capital(name)}: {label}"
    return Tile(title, found.as_estimate)
