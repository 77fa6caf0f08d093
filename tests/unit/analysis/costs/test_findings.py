"""The sentences of a calibration: the error that is not excluded, and unknown parts."""

import re
from dataclasses import replace

import numpy as np
import pytest

from factories.costs import made_calibration
from tlslab.analysis.costs.answer import answer
from tlslab.analysis.costs.cost_parts import REQUEST
from tlslab.analysis.costs.findings import findings
from tlslab.analysis.costs.model import Check, CostModel
from tlslab.analysis.costs.processors_needed import Bounds, size
from tlslab.analysis.costs.summary import calibration
from tlslab.domain.estimate import Estimate

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


def error_words(*held_out: Check) -> str:
    return next(f.text for f in findings(MODEL, held_out, "nginx") if f.code == "model_error")


def test_the_error_that_is_not_excluded_is_the_largest_of_all_checks() -> None:
    text = error_words(check(1.06, 1.05, 1.07), check(1.01, 0.85, 1.20))
    assert "off at most by 6 % (95 %: up to 20 %)" in text
    assert "10 % is not excluded" in text
    assert "plan with it" not in text


def test_a_check_without_an_interval_leaves_the_error_open() -> None:
    text = error_words(check(1.03, None, None), check(1.01, 0.99, 1.02))
    assert "off at most by 3 %; one block gives no interval" in text


def test_the_error_is_that_by_which_a_plan_is_widened_and_never_less() -> None:
    draw = np.random.default_rng(3)
    for _ in range(50):
        ratios = draw.uniform(0.95, 1.05, 3)
        widths = draw.uniform(0.02, 0.2, 3)
        held_out = tuple(
            check(ratio, ratio - width, ratio + width)
            for ratio, width in zip(ratios.tolist(), widths.tolist(), strict=True)
        )
        said = re.search(r"95 %: up to (\d+) %", error_words(*held_out))
        assert said is not None
        planned = size(MODEL, held_out, MODEL.centre, Bounds(0.8, None), processors=1)
        assert planned.error_bound is not None
        assert int(said[1]) - 1 < 100 * planned.error_bound <= int(said[1])


def with_request(*costs: float) -> CostModel:
    """A model with these costs of a request, in turns over its blocks."""
    changed = MODEL.costs.copy()
    changed[:, MODEL.parts.index(REQUEST)] = np.resize(costs, len(MODEL.blocks))
    return replace(MODEL, costs=changed)


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ((-9.0, 3.0), r"at most [\d.]+ µs \(95 %: not told apart from nothing\)"),
        ((-9.0, -6.0), r"nothing by the fit \(95 %: below 0\)"),
        ((5.0, 12.0), r"[\d.]+ to [\d.]+ µs \(95 %\)"),
    ],
)
def test_a_part_that_is_not_known_has_no_value(costs: tuple[float, float], said: str) -> None:
    changed = with_request(*costs)
    found = findings(changed, FOUND.checks, "nginx")
    text = next(f.text for f in found if f.code == "cost_of_parts")
    assert re.search(f"a request costs {said}", text)
    given = answer(CONTENTS, changed, FOUND.checks, found)
    assert re.search(f"a request {said}", given.sentences[0])
    assert not re.search(r"-\d", text + given.sentences[0])
    assert [tile.title for tile in given.tiles] == [
        "Full handshake", "Resumed handshake", "1,000 bytes sent",
    ]  # fmt: skip


def test_a_part_that_is_known_has_its_value_and_interval() -> None:
    found = findings(MODEL, FOUND.checks, "nginx")
    assert re.search(r"a request costs [\d.]+ \(95 %: [\d.]+ to [\d.]+\) µs", found[0].text)
    assert len(answer(CONTENTS, MODEL, FOUND.checks, found).tiles) == 4
