"""The sentences of a comparison of two runs, or of two servers of one run."""

from collections.abc import Sequence

from tlslab.domain.estimates import estimate_name
from tlslab.domain.finding import Summary, Values
from tlslab.domain.wording import capital, counted, difference
from tlslab.words.numbers import with_interval
from tlslab.words.sentence import Sentences

# The largest number of differences that are named; the others are counted.
_NAMED = 2

# The reasons that a ratio cannot be judged; the table gives the reason of each.
_REASONS = (
    "lower bounds, searches that were inconclusive or disturbed, no valid result, or another way "
    "to measure"
)


def _alike(values: Values, cells: Sequence[str], summary: Summary) -> str:
    where = ""
    if values["open"]:
        where = f" in {values['known']} of {counted(values['ratios'], 'ratio')}"
    elif values["unjudged"]:
        where = " in what can be judged"
    within = difference(values["within"])
    rates = values["rates_within"]
    by_rates = ""
    if rates is not None and difference(rates) != within:
        by_rates = f", by its rates within {difference(rates)}"
    return (
        f"No difference is established{where}: {values['second']} is within {within} of "
        f"{values['first']}{by_rates}."
    )


def _differ(values: Values, cells: Sequence[str], summary: Summary) -> str:
    differing, ratios = values["differing"], values["ratios"]
    of = f"{len(differing)} of {counted(ratios, 'ratio')}"
    named = [_difference(each) for each in differing[:_NAMED]]
    if values["mostly"]:
        return (
            f"{values['second']} differs from {values['first']} in {of}, most in "
            f"{'; '.join(named)}."
        )
    if (more := len(differing) - _NAMED) > 0:
        named.append(f"and {counted(more, 'more ratio')}")
    what = f"{of} {'differs' if len(differing) == 1 else 'differ'}"
    if len(differing) == ratios:
        which = "Every ratio that can be judged" if values["unjudged"] else "Every ratio"
        what = f"{which} differs"
    return f"{what}: {'; '.join(named)}."


def _difference(values: Values) -> str:
    """`response time p99 at 40 % of the maximum: 1.3 times (95 %: 1.1 to 1.5)`."""
    where = f", {values['cell']}" if values["cell"] else ""
    times = with_interval(values["ratio"], unit="times", absent="")
    return f"{estimate_name(values['estimate'])}{where}: {times}"


def _rest(values: Values, cells: Sequence[str], summary: Summary) -> str:
    """The ratios without a difference: bounded, open, or not judged."""
    known, open_, unjudged = values["known"], values["open"], values["unjudged"]
    parts = []
    if known:
        parts.append(
            f"no difference is established in {counted(known, 'other ratio')} "
            f"(by {difference(values['within'])} at most)"
        )
    if open_:
        subject = ": it" if open_ == 1 else ": they"
        of = f"of {counted(open_, 'other ratio')} nothing is known"
        parts.append(of + _may_differ(subject, values["may_differ"]))
    if unjudged:
        parts.append(f"{counted(unjudged, 'ratio')} cannot be judged: {_REASONS}")
    return f"{capital('; '.join(parts))}."


def _may_differ(subject: str, left: float | None) -> str:
    """` may differ by up to 80 %`, to follow its subject; empty if it is not known."""
    return "" if left is None else f"{subject} may differ by up to {difference(left)}"


def _certainty(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return (
        f"{counted(values['ratios'], 'ratio')} tested together at 5 % (false discovery rate); "
        f"{counted(values['trials'], 'trial')} of each cell at least; intervals of 95 %"
    )


def _few_trials(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return f"{counted(values['trials'], 'trial')} of each cell at least: dots only, no interval"


def _too_few_trials(values: Values, cells: Sequence[str], summary: Summary) -> str:
    trials = counted(values["trials"], "trial")
    return f"{trials} of a cell: fewer than {values['fewest']} carry no sentence."


def _none_judged(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return f"No ratio can be judged: {_REASONS}."


def _wide(values: Values, cells: Sequence[str], summary: Summary) -> str:
    may_differ = _may_differ("; they", values["may_differ"])
    return f"No difference is established, but the intervals are wide{may_differ}."


def _left_out(values: Values, cells: Sequence[str], summary: Summary) -> str:
    verb = "is" if values["cells"] == 1 else "are"
    return (
        f"{counted(values['cells'], 'cell')} {verb} in one of the {values['noun']}s only, and "
        f"{verb} left out."
    )


SENTENCES: Sentences = {
    "alike": _alike,
    "certainty": _certainty,
    "differ": _differ,
    "few_trials": _few_trials,
    "left_out": _left_out,
    "none_judged": _none_judged,
    "rest": _rest,
    "too_few_trials": _too_few_trials,
    "wide": _wide,
}
