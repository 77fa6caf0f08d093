"""What all modules of sentences share."""

from collections.abc import Callable, Mapping

from tlslab.domain.finding import Summary, Values
from tlslab.domain.wording import short_label

# A sentence from the values of its code, the keys of the cells that it mentions, and the summary,
# which has their names and estimates.
Sentence = Callable[[Values, tuple[str, ...], Summary], str]
Sentences = Mapping[str, Sentence]


def compared_name(summary: Summary, key: str) -> str:
    """A cell by the levels that are compared: `X25519`."""
    levels = summary.cell(key).factors
    return short_label({name: levels[name] for name in summary.experiment.baseline})
