"""Processors for a load: the queue, the two limits, and the load for N processors."""

import math
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import scipy

from factories.costs import made_calibration
from tlslab.analysis.costs.cost_parts import REQUEST
from tlslab.analysis.costs.findings import findings
from tlslab.analysis.costs.model import Check, CostModel, checks
from tlslab.analysis.costs.processors_needed import Bounds, size, widened
from tlslab.analysis.costs.summary import calibration
from tlslab.analysis.stats.queue import exceeds, mean_response, most_within, waiting_probability
from tlslab.domain.capacity import Objective
from tlslab.domain.errors import CannotTellError, UsageError
from tlslab.domain.estimate import Estimate
from tlslab.domain.sizing import NoSizingError
from tlslab.words.sizing import refusal

FOUND = calibration(made_calibration(noise=0.01))


def model() -> CostModel:
    assert FOUND.model is not None
    return FOUND.model


MODEL = model()
MIX = {**MODEL.centre, "resumed": "60%", "requests": "8", "document_bytes": "4096"}


def test_two_servers_with_equal_exponents_have_the_limit_of_the_formula() -> None:
    near = exceeds(2, 1000.0 * (1 + 1e-6), 0.001, 0.005)
    assert exceeds(2, 1000.0, 0.001, 0.005) == pytest.approx(near, rel=1e-4)


def test_the_highest_rate_within_an_objective_meets_it_exactly() -> None:
    rate = most_within(4, 0.001, 0.01, 0.99)
    assert exceeds(4, rate, 0.001, 0.01) == pytest.approx(0.01, rel=1e-6)
    assert most_within(1, 0.001, 0.01, None) == pytest.approx(1000 - 1 / 0.01)
    assert most_within(1, 0.001, 0.001, 0.99) == 0.0


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


@pytest.mark.parametrize(("servers", "offered"), [(1, 0.3), (2, 1.7), (5, 4.0), (12, 9.5)])
def test_erlang_c_is_its_sum(servers: int, offered: float) -> None:
    """Erlang's formula as printed, with factorials (Gross et al., section 2.3.2)."""
    first = sum(offered**k / math.factorial(k) for k in range(servers))
    last = offered**servers / math.factorial(servers) * servers / (servers - offered)
    assert waiting_probability(servers, offered) == pytest.approx(last / (first + last))


@pytest.mark.parametrize(("servers", "rate"), [(1, 600.0), (2, 1500.0), (3, 1200.0), (5, 4500.0)])
def test_the_response_is_a_wait_and_a_service(servers: int, rate: float) -> None:
    """A wait, which is 0 or exponential, and an exponential service: the sum of both."""
    service = 0.001
    waits = waiting_probability(servers, rate * service)
    served, spare = 1 / service, servers / service - rate
    for limit in (0.0005, 0.002, 0.006):
        waited, _ = scipy.integrate.quad(
            lambda w, limit: spare * math.exp(-spare * w - served * (limit - w)),
            0,
            limit,
            args=(limit,),
        )
        late = (1 - waits) * math.exp(-served * limit)
        late += waits * (math.exp(-spare * limit) + waited)
        assert exceeds(servers, rate, service, limit) == pytest.approx(late, rel=1e-6)
    mean = service + waits / spare
    assert mean_response(servers, rate, service) == pytest.approx(mean)


def test_a_processor_is_limited_by_its_time_or_by_the_objective() -> None:
    # One processor, 1 ms a connection: the mean is 1 / (1000 - rate); the quantile of one in 100 is
    # ln 100 times as long.
    mean, tail = Objective("mean", 10.0), Objective("p99", 10.0)
    for bounds, processors, cost_us, most, limit in (
        (Bounds(0.8, None), 4, 100.0, 32_000.0, "busy"),
        (Bounds(0.95, mean), 1, 1000.0, 900.0, "objective"),
        (Bounds(0.95, tail), 1, 1000.0, 1000 - 100 * math.log(100), "objective"),
        (Bounds(0.5, tail), 1, 1000.0, 500.0, "busy"),
    ):
        found, by = bounds.most(processors, cost_us)
        assert found == pytest.approx(most)
        assert by == limit


@pytest.mark.parametrize("objective", [None, Objective("p99", 8.0)])
@pytest.mark.parametrize("rate", [1.0, 799.0, 801.0, 2500.0, 7777.0, 50_001.0])
def test_the_fewest_processors_are_the_first_that_carry_the_rate(
    objective: Objective | None, rate: float
) -> None:
    bounds = Bounds(0.8, objective)
    first = next(n for n in count(1) if bounds.most(n, 1000.0)[0] >= rate)
    assert bounds.fewest(rate, 1000.0) == first
    # The highest load for N processors needs no more than N processors.
    assert bounds.fewest(bounds.most(first, 1000.0)[0], 1000.0) == first


def estimate(value: float, low: float | None, high: float | None) -> Estimate:
    return Estimate(value, low, high, 5, "", "made")


@pytest.mark.parametrize(
    ("ratio", "error", "bound"),
    [
        (estimate(0.8, 0.7, 1.3), 0.25, 1 / 0.7 - 1),
        (estimate(1.1, 0.95, 1.4), 0.1, 0.4),
        (estimate(1.0, None, None), 0.0, 0.0),
        (estimate(0.5, None, None), 1.0, 1.0),
        (estimate(0.5, 0.0, 2.0), math.inf, math.inf),
        (estimate(0.0, None, None), math.inf, math.inf),
    ],
)
def test_a_check_says_how_far_off_the_model_is(ratio: Estimate, error: float, bound: float) -> None:
    check = Check({}, ratio, ratio, ratio)
    assert (check.error, check.bound) == pytest.approx((error, bound))


def test_an_interval_is_widened_by_a_share_either_way() -> None:
    found = widened(estimate(100.0, 90.0, 120.0), 0.25)
    assert (found.value, found.low, found.high) == (100.0, 72.0, 150.0)
    assert found.method == "made, widened by the largest error that is not excluded, 25.0%"
    bare = estimate(100.0, None, None)
    assert widened(bare, 0.25) == bare


def test_the_rate_of_processors_follows_from_the_cost() -> None:
    found = size(MODEL, (), MIX, Bounds(0.8, None), processors=3)
    cost = found.cost
    assert cost.low is not None
    assert cost.high is not None
    carried = [3 * 0.8 / (each * 1e-6) for each in (cost.value, cost.high, cost.low)]
    assert [found.rate, found.rate_low, found.rate_high] == pytest.approx(carried)
    assert (found.processors, found.processors_low, found.processors_high) == (3, 3, 3)
    assert found.busy == pytest.approx(0.8)
    assert found.asked == "rate"
    assert (found.limit, found.busy_at_most, found.objective) == ("busy", 0.8, None)
    assert (found.checks, found.blocks) == (0, len(MODEL.blocks))


def test_the_processors_for_a_rate_follow_from_the_cost() -> None:
    found = size(MODEL, (), MIX, Bounds(0.8, None), rate=20_000.0)
    cost = found.cost
    assert cost.low is not None
    assert cost.high is not None
    taken = [20_000 * each * 1e-6 for each in (cost.value, cost.low, cost.high)]
    assert [found.processors, found.processors_low, found.processors_high] == [
        math.ceil(each / 0.8) for each in taken
    ]
    assert (found.rate, found.rate_low, found.rate_high) == (20_000.0, 20_000.0, 20_000.0)
    assert found.busy == pytest.approx(taken[0] / found.processors)
    assert found.asked == "processors"


def test_the_parts_of_a_mix_come_with_the_most_expensive_first() -> None:
    shares = size(MODEL, (), MIX, Bounds(0.8, None), processors=1).shares
    assert [share.cost_us for share in shares] == sorted(
        (share.cost_us for share in shares), reverse=True
    )
    by_name = {share.part: share for share in shares}
    assert set(by_name) == {"full handshake", "resumed handshake", "request", "kB sent"}
    assert by_name["request"].count == 8
    assert by_name["request"].cost_us == pytest.approx(8 * MODEL.part("request").value)
