"""The answer of a comparison of two runs: no difference, or the differences and their sizes."""

from collections.abc import Sequence
from dataclasses import replace

from tlslab.analysis.enough import AIM, FEWEST, OWN
from tlslab.domain.command_line import without_options
from tlslab.domain.enough import WIDE
from tlslab.domain.estimates import estimate_name, quantity
from tlslab.domain.finding import Answer, Comparison, Lacking, Statement, Tile, Values
from tlslab.domain.wording import capital

_MOST_TILES = 5
_FEWEST_TILES = 3

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
    bare = Answer(f"Does {second} differ from {first}?", figure=figure)
    judged = [each for each in found if each[1].verdict != "not_comparable"]
    unjudged = len(found) - len(judged) + missing
    if not judged:
        return replace(bare, lacking=Lacking(code="none_judged"))
    n = min(comparison.n for _, comparison in judged)
    again = without_options(command, OWN)
    if n < FEWEST:
        lacking = Lacking(
            code="too_few_trials",
            values={"trials": n, "fewest": FEWEST},
            command=(*again, "--blocks", str(2 * FEWEST)),
            few=True,
        )
        return replace(bare, certainty=Statement("few_trials", {"trials": n}), lacking=lacking)
    certainty = Statement("certainty", {"ratios": len(judged), "trials": n})
    # Differences of about the same size keep the order of the table: rates first.
    differing = sorted(
        (each for each in judged if each[1].differs), key=lambda each: -round(_size(each[1]), 1)
    )
    if not differing and (values := _too_wide(judged)) is not None:
        longer = ("--until", f"{AIM:.0%}") if until else ("--blocks", str(2 * n))
        lacking = Lacking(code="wide", values=values, command=(*again, *longer))
        return replace(bare, certainty=certainty, lacking=lacking)
    tiles = tuple(_tile(*each) for each in (differing or judged)[:_MOST_TILES])
    return replace(
        bare,
        statements=_statements(names, judged, differing, unjudged),
        certainty=certainty,
        tiles=tiles if len(tiles) >= _FEWEST_TILES else (),
    )


def _size(found: Comparison) -> float:
    """The ratio of the greater side to the smaller."""
    return max(found.ratio, 1 / found.ratio)


def _is_known(found: Comparison) -> bool:
    """Whether a ratio without an established difference is known to be near 1."""
    return found.may_differ is not None and found.may_differ <= WIDE - 1


def _too_wide(judged: Sequence[Labelled]) -> Values | None:
    """The lack of an answer without established differences; None if the rates' intervals suffice.

    Times and amounts with wide intervals are mentioned in the answer itself.
    """
    open_ = [c for _, c in judged if not _is_known(c)]
    if not any(quantity(c.estimate).is_bounded for c in open_) and len(open_) < len(judged):
        return None
    return {"may_differ": _largest(open_)}


def _largest(found: Sequence[Comparison]) -> float | None:
    """The largest difference that the ratios leave open; None if an interval is missing."""
    left = [c.may_differ for c in found if c.may_differ is not None]
    return max(left) if left and len(left) == len(found) else None


def _statements(
    names: tuple[str, str],
    judged: Sequence[Labelled],
    differing: Sequence[Labelled],
    unjudged: int,
) -> tuple[Statement, ...]:
    alike = [c for _, c in judged if not c.differs]
    known, open_ = [c for c in alike if _is_known(c)], [c for c in alike if not _is_known(c)]
    values = {"first": names[0], "second": names[1], "ratios": len(judged), "unjudged": unjudged}
    if not differing:
        bounds = {
            "known": len(known),
            "open": len(open_),
            "within": _largest(known),
            "rates_within": _largest([c for c in known if quantity(c.estimate).is_bounded]),
        }
        return Statement("alike", {**values, **bounds}), *_rest((), open_, unjudged)
    mostly = len(differing) > len(alike) > 0
    several = len({label for label, _ in judged}) > 1
    named = [
        {"cell": label if several else "", "estimate": each.estimate, "ratio": each.as_estimate}
        for label, each in differing
    ]
    first = Statement("differ", {**values, "differing": named, "mostly": mostly})
    # Where most ratios differ, the others are of no weight.
    return first, *(_rest((), (), unjudged) if mostly else _rest(known, open_, unjudged))


def _rest(
    known: Sequence[Comparison], open_: Sequence[Comparison], unjudged: int
) -> tuple[Statement, ...]:
    """The ratios without a difference: bounded, open, or not judged; nothing for none."""
    values = {
        "known": len(known),
        "within": _largest(known),
        "open": len(open_),
        "may_differ": _largest(open_),
        "unjudged": unjudged,
    }
    return (Statement("rest", values),) if known or open_ or unjudged else ()


def _tile(label: str, found: Comparison) -> Tile:
    return Tile(f"{capital(estimate_name(found.estimate))}: {label}", found.as_estimate)
