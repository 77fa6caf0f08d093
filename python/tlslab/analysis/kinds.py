"""What makes a summary of a run: one analyst for each kind of experiment."""

from collections.abc import Callable

from tlslab.model.finding import Summary
from tlslab.model.registry import Registry
from tlslab.model.run import RunContents

Analyst = Callable[[RunContents], Summary]

ANALYSTS: Registry[Analyst] = Registry()


def summarise(contents: RunContents) -> Summary:
    """All that can be said of a run, from its folder's content alone.

    Pure. Raises UsageError when the experiment names a published study that is not shipped.
    """
    return ANALYSTS[contents.experiment.kind](contents)
