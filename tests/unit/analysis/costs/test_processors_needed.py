"""Processors for a load: the queue, the two limits, and the load for N processors."""

import math
from dataclasses import replace

import numpy as np
import pytest

from factories.costs import made_calibration, true_cost
from tlslab.analysis.costs.cost_parts import REQUEST
from tlslab.analysis.costs.findings import findings
from tlslab.analysis.costs.model import CostModel, checks
from tlslab.analysis.costs.processors_needed import Bounds, size
from tlslab.analysis.costs.summary import calibration
from tlslab.analysis.stats.queue import exceeds, mean_response, most_within, waiting_probability
from tlslab.domain.capacity import Objective
from tlslab.domain.errors import CannotTellError, UsageError
from tlslab.domain.sizing import NoSizingError
from tlslab.words.sizing import refusal

FOUND = calibration(made_calibration(noise=0.01))


def model() -> CostModel:
    assert FOUND.model is not None
    return FOUND.model


MODEL = model()
MIX = {**MODEL.centre, "resumed": "60%", "requests": "8", "document_bytes": "4096"}


def test_erlang_c_is_that_of_the_tables() -> None:
    # One server: the share of time in which it is busy. Two at half their load: 1/3 (Gross et al.).
    assert waiting_probability(1, 0.7) == pytest.approx(0.7)
    assert waiting_probability(2, 1.0) == pytest.approx(1 / 3)
    assert waiting_probability(3, 2.0) == pytest.approx(4 / 9)


def test_one_server_has_exponential_response_times() -> None:
    service, rate, limit = 0.001, 800.0, 0.02
    assert mean_response(1, rate, service) == pytest.approx(1 / (1000 - rate))
    assert exceeds(1, rate, service, limit) == pytest.approx(math.exp(-(1000 - rate) * limit))


def test_two_servers_with_equal_exponents_have_the_limit_of_the_formula() -> None:
    near = exceeds(2, 1000.0 * (1 + 1e-6), 0.001, 0.005)
    assert exceeds(2, 1000.0, 0.001, 0.005) == pytest.approx(near, rel=1e-4)


def test_the_highest_rate_within_an_objective_meets_it_exactly() -> None:
    rate = most_within(4, 0.001, 0.01, 0.99)
    assert exceeds(4, rate, 0.001, 0.01) == pytest.approx(0.01, rel=1e-6)
    assert most_within(1, 0.001, 0.01, None) == pytest.approx(1000 - 1 / 0.01)
    assert most_within(1, 0.001, 0.001, 0.99) == 0.0


def test_a_load_takes_what_its_cost_and_the_allowed_share_make_of_it() -> None:
    found = size(MODEL, FOUND.checks, MIX, Bounds(0.8, None), rate=5000.0)
    demand = 5000 * true_cost(MIX) / 1e6
    assert found.processors == math.ceil(demand / 0.8)
    assert found.asked == "processors"
    assert found.processors_low is not None
    assert found.processors_high is not None
    assert found.processors_low <= found.processors <= found.processors_high
    assert found.busy == pytest.approx(demand / found.processors, rel=0.02)
    assert sum(share.cost_us for share in found.shares) == pytest.approx(true_cost(MIX), rel=0.02)


def test_the_rate_of_processors_and_the_processors_for_a_rate_agree() -> None:
    carried = size(MODEL, FOUND.checks, MIX, Bounds(0.8, None), processors=4)
    taken = size(MODEL, FOUND.checks, MIX, Bounds(0.8, None), rate=carried.rate * 0.999)
    assert taken.processors == 4
    assert carried.asked == "rate"
    assert carried.rate_low is not None
    assert carried.rate_high is not None
    assert carried.rate_low < carried.rate < carried.rate_high


def test_the_model_error_widens_the_interval() -> None:
    found = size(MODEL, FOUND.checks, MIX, Bounds(0.8, None), processors=1)
    alone = MODEL.cost(MIX)
    assert found.error_bound is not None
    assert found.error is not None
    assert found.error_bound > found.error
    assert alone.high is not None
    assert found.cost.high == pytest.approx(alone.high * (1 + found.error_bound))
    unchecked = size(MODEL, (), MIX, Bounds(0.8, None), processors=1)
    assert (unchecked.error, unchecked.error_bound) == (None, None)
    assert unchecked.cost.high == alone.high


def test_a_tight_objective_is_the_limit() -> None:
    tight = Objective("p99", 3.0)
    found = size(MODEL, FOUND.checks, MIX, Bounds(0.95, tight), processors=1)
    assert found.limit == "objective"
    assert found.busy < 0.9


def test_an_objective_below_the_service_time_cannot_be_met() -> None:
    with pytest.raises(NoSizingError) as why:
        size(MODEL, FOUND.checks, MIX, Bounds(0.8, Objective("p99", 1.0)), rate=100.0)
    error = refusal(why.value)
    assert isinstance(error, UsageError)
    assert "no number of processors meets p99<1ms" in error.message


def test_an_objective_that_only_the_cost_itself_meets_is_open() -> None:
    # 1.7 ms for a connection alone; by the end of its interval more than the limit of 2 ms.
    cost = MODEL.cost(MODEL.centre).value
    shared = 1700.0 / cost * np.resize([0.7, 1.3], len(MODEL.blocks))
    wide = replace(MODEL, costs=MODEL.costs.mean(axis=0) * shared[:, None])
    alone = wide.cost(MODEL.centre)
    assert alone.high is not None
    assert alone.value < 2000 < alone.high
    limits = Bounds(0.8, Objective("mean", 2.0))
    with pytest.raises(NoSizingError) as why:
        size(wide, (), wide.centre, limits, rate=100.0)
    error = refusal(why.value)
    assert isinstance(error, CannotTellError)
    assert "whether any number of processors meets mean<2ms" in error.message
    # By the cost itself four processors carry a load; by the interval they may carry nothing.
    carried = size(wide, (), wide.centre, limits, processors=4)
    assert carried.rate > 0
    assert carried.rate_low == 0


def test_one_block_has_no_interval() -> None:
    one = replace(MODEL, blocks=MODEL.blocks[:1], costs=MODEL.costs[:1])
    for held_out in ((), checks(one, FOUND.held_out)):
        taken = size(one, held_out, MIX, Bounds(0.8, None), rate=5000.0)
        assert (taken.processors_low, taken.processors_high) == (None, None)
        carried = size(one, held_out, MIX, Bounds(0.8, None), processors=4)
        assert (carried.rate_low, carried.rate_high) == (None, None)
        assert (carried.cost.low, carried.cost.high) == (None, None)


def test_a_part_that_may_be_nothing_has_its_interval() -> None:
    costs = MODEL.costs.copy()
    costs[:, MODEL.parts.index(REQUEST)] = np.resize([-9.0, 3.0], len(MODEL.blocks))
    found = size(replace(MODEL, costs=costs), (), MIX, Bounds(0.8, None), processors=1)
    share = next(each for each in found.shares if each.part == REQUEST)
    assert share.low_us is not None
    assert share.high_us is not None
    assert share.low_us < share.cost_us < 0 < share.high_us


def test_a_calibration_of_noise_alone_plans_nothing() -> None:
    # Costs of parts are differences: by a noisy fit a mix may have a negative cost.
    noisy = replace(MODEL, costs=MODEL.costs - MODEL.costs.mean(axis=0) * 1.5)
    with pytest.raises(NoSizingError) as why:
        size(noisy, (), MIX, Bounds(0.8, None), rate=100.0)
    assert "too noisy to plan with: a connection of this mix" in refusal(why.value).message
    held_out = checks(noisy, FOUND.held_out)
    assert all(check.ratio.n == len(MODEL.blocks) for check in held_out)
    assert any(check.error == math.inf for check in held_out)
    with pytest.raises(NoSizingError) as why:
        size(MODEL, held_out, MIX, Bounds(0.8, None), processors=1)
    assert "by it a mix that was measured may cost nothing" in refusal(why.value).message
    error = findings(noisy, held_out)[1]
    assert (error.code, set(error.values)) == ("model_error", {"predicted", "measured"})
