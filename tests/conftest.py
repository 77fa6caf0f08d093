"""What the tests of several rooms share."""

import pytest

from factories.run import made_run
from tlslab.analysis import summarise
from tlslab.model.finding import Summary


@pytest.fixture(scope="session")
def full_summary() -> Summary:
    """The summary of a made-up full run of the experiment `groups`."""
    return summarise(made_run())


@pytest.fixture(scope="session")
def quick_summary() -> Summary:
    """The summary of a made-up quick run of the experiment `groups`."""
    return summarise(made_run(quick=True))
