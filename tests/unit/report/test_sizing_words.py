"""The processors for a load, in words: reservations come before the reasons."""

from dataclasses import replace

from rich.console import Console

from factories.costs import made_calibration
from tlslab.analysis.costs.processors_needed import Bounds, size
from tlslab.analysis.costs.summary import calibration
from tlslab.domain.sizing import Sizing
from tlslab.report.sizing_words import render_sizing

CONTENTS = made_calibration(noise=0.01)


def made(**changes: object) -> str:
    """The words of a plan whose processors are established, with these changes."""
    found = calibration(CONTENTS)
    assert found.model is not None
    sizing = size(found.model, found.checks, found.model.centre, Bounds(0.8, None), rate=1000.0)
    known = replace(sizing, processors=2, processors_low=2, processors_high=2)
    return shown(replace(known, **changes))  # type: ignore[arg-type]


def shown(sizing: Sizing) -> str:
    console = Console(width=500, no_color=True)
    with console.capture() as capture:
        console.print(render_sizing(sizing, CONTENTS.environment))
    return capture.get()


def test_processors_that_only_the_point_estimate_allows_are_not_established() -> None:
    assert "not established" not in made()
    words = "Whether 2 processors will do is not established; 3 will, by the whole interval."
    assert words in made(processors_high=3)


def test_a_model_that_was_not_checked_gives_an_indication() -> None:
    assert "Only an indication" not in made()
    text = made(error=None, error_bound=None, checks=0)
    assert "Only an indication: no mix was held out of the calibration" in text
    assert "held out of its fit" not in text
