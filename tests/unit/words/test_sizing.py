"""The processors for a load, in sentences: reservations, and bounds that are rounded up."""

from dataclasses import replace

import pytest

from factories.costs import made_calibration
from tlslab.analysis.costs.processors_needed import Bounds, size
from tlslab.analysis.costs.summary import calibration
from tlslab.domain.sizing import Sizing
from tlslab.words.sizing import cautions, grounds

CONTENTS = made_calibration(noise=0.01)
FOUND = calibration(CONTENTS)


def made(**changes: object) -> Sizing:
    """A plan whose processors are established, with these changes."""
    assert FOUND.model is not None
    sizing = size(FOUND.model, FOUND.checks, FOUND.model.centre, Bounds(0.8, None), rate=1000.0)
    known = replace(sizing, processors=2, processors_low=2, processors_high=2)
    return replace(known, **changes)  # type: ignore[arg-type]


def test_processors_that_only_the_point_estimate_allows_are_not_established() -> None:
    assert cautions(made()) == []
    assert cautions(made(processors_high=3)) == [
        "Whether 2 processors will do is not established; 3 will, by the whole interval."
    ]


def test_a_model_that_was_not_checked_gives_an_indication() -> None:
    unchecked = made(error=None, error_bound=None, checks=0)
    (caution,) = cautions(unchecked)
    assert caution.startswith("Only an indication: no mix was held out of the calibration")
    assert "held out of its fit" not in " ".join(grounds(unchecked, CONTENTS.environment))


@pytest.mark.parametrize(("bound", "said"), [(0.034, "4 %"), (0.036, "4 %"), (0.0042, "0.5 %")])
def test_an_error_that_is_not_excluded_is_rounded_up(bound: float, said: str) -> None:
    lines = " ".join(grounds(made(error_bound=bound), CONTENTS.environment))
    assert f"; {said} is not excluded (95 %), by which" in lines
