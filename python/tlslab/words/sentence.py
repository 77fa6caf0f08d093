"""What all modules of sentences share."""

from collections.abc import Callable, Mapping

from tlslab.domain.finding import Summary, Values
from tlslab.domain.wording import short_label
from tlslab.words.numbers import with_interval

# A sentence from the values of its code, the keys of the cells that it mentions, and the summary,
# which has their names and estimates.
Sentence = Callable[[Values, tuple[str, ...], Summary], str]
Sentences = Mapping[str, Sentence]


def compared_name(summary: Summary, key: str) -> str:
    """A cell by the levels that are compared: `X25519`."""
    return varied_label(summary.cell(key).factors, summary.experiment.baseline)


def varied_label(factors: Mapping[str, str], baseline: Mapping[str, str]) -> str:
    """A cell's levels of the factors that are compared, suites by their short names."""
    return short_label({name: factors[name] for name in baseline if name in factors})


def estimated(summary: Summary, key: str, estimate: str) -> str:
    """A cell's estimate: `3,412 (95 %: 3,390 to 3,440)`; `at least 3,412` for a lower bound."""
    cell = summary.cell(key)
    bound = "at least" if cell.is_bound(estimate) else ""
    return with_interval(cell.estimates[estimate], bound=bound)
