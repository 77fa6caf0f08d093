"""The findings of a calibration: the error that is not excluded, and unknown parts."""

import re
from dataclasses import replace

import numpy as np
import pytest

from factories.costs import made_calibration
from tlslab.analysis.costs.cost_parts import REQUEST
from tlslab.analysis.costs.findings import answer, findings, is_uncertain
from tlslab.analysis.costs.model import Check, CostModel
from tlslab.analysis.costs.processors_needed import Bounds, size
from tlslab.analysis.costs.summary import calibration
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Values
from tlslab.words.costs import uncertain_words

CONTENTS = made_calibration(noise=0.01)
FOUND = calibration(CONTENTS)


def model() -> CostModel:
    assert FOUND.model is not None
    return FOUND.model


MODEL = model()


def check(ratio: float, low: float | None, high: float | None) -> Check:
    """A held-out mix, with the ratio of the model's cost to the measured cost."""
    known = Estimate(500.0, 490.0, 510.0, 8, "us", "made up")
    return Check({}, known, known, Estimate(ratio, low, high, 8, "ratio", "made up"))


def error(*held_out: Check) -> Values:
    return next(f.values for f in findings(MODEL, held_out) if f.code == "model_error")


def test_the_error_that_is_not_excluded_is_the_largest_of_all_checks() -> None:
    found = error(check(1.06, 1.05, 1.07), check(1.01, 0.85, 1.20))
    assert (found["error"], found["bound"]) == pytest.approx((0.06, 0.20))
    assert not found["good"]


def test_a_check_without_an_interval_leaves_the_error_open() -> None:
    found = error(check(1.03, None, None), check(1.01, 0.99, 1.02))
    assert found["error"] == pytest.approx(0.03)
    assert (found["bound"], found["good"]) == (None, False)


def test_the_error_is_that_by_which_a_plan_is_widened_and_never_less() -> None:
    draw = np.random.default_rng(3)
    for _ in range(50):
        ratios = draw.uniform(0.95, 1.05, 3)
        widths = draw.uniform(0.02, 0.2, 3)
        held_out = tuple(
            check(ratio, ratio - width, ratio + width)
            for ratio, width in zip(ratios.tolist(), widths.tolist(), strict=True)
        )
        planned = size(MODEL, held_out, MODEL.centre, Bounds(0.8, None), processors=1)
        assert error(*held_out)["bound"] == planned.error_bound


def with_request(*costs: float) -> CostModel:
    """A model with these costs of a request, in turns over its blocks."""
    changed = MODEL.costs.copy()
    changed[:, MODEL.parts.index(REQUEST)] = np.resize(costs, len(MODEL.blocks))
    return replace(MODEL, costs=changed)


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ((-9.0, 3.0), r"at most [\d.]+ µs \(95 %: not told apart from nothing\)"),
        ((-9.0, -6.0), r"nothing by the fit \(95 %: below 0\)"),
        ((5.0, 12.0), r"[\d.]+ to [\d.]+ µs \(95 %\)"),
    ],
)
def test_a_part_that_is_not_known_has_no_value(costs: tuple[float, float], words: str) -> None:
    changed = with_request(*costs)
    part = changed.part(REQUEST)
    assert is_uncertain(part)
    assert re.fullmatch(words, uncertain_words(part))
    given = answer(CONTENTS, changed, FOUND.checks, findings(changed, FOUND.checks))
    assert given.statements[0].values["parts"][REQUEST] == part
    assert [tile.title for tile in given.tiles] == [
        "Full handshake", "Resumed handshake", "1,000 bytes sent",
    ]  # fmt: skip


def test_a_part_that_is_known_has_its_value_and_interval() -> None:
    assert not is_uncertain(MODEL.part(REQUEST))
    assert uncertain_words(MODEL.part(REQUEST)) == ""
    found = findings(MODEL, FOUND.checks)
    assert len(answer(CONTENTS, MODEL, FOUND.checks, found).tiles) == 4
