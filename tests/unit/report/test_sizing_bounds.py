"""A plan in words: no printed bound is lower than the known one."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from factories.costs import made_calibration
from tlslab.analysis.costs.processors_needed import Bounds, size
from tlslab.analysis.costs.summary import calibration
from tlslab.report.sizing_words import render_sizing

CONTENTS = made_calibration(noise=0.01)
FOUND = calibration(CONTENTS)


@pytest.mark.parametrize(("bound", "said"), [(0.034, "4 %"), (0.036, "4 %"), (0.0042, "0.5 %")])
def test_an_error_that_is_not_excluded_is_rounded_up(bound: float, said: str) -> None:
    assert FOUND.model is not None
    planned = size(FOUND.model, FOUND.checks, FOUND.model.centre, Bounds(0.8, None), rate=5000.0)
    console = Console(width=200, record=True, file=io.StringIO(), highlight=False)
    console.print(render_sizing(replace(planned, error_bound=bound), CONTENTS.environment))
    assert f"; {said} is not excluded (95 %), by which" in console.export_text()
