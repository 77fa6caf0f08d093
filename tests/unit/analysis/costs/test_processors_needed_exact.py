"""Queue, limits and checks of a plan on values with known answers."""

import math
from itertools import count

import pytest
import scipy

from factories.costs import made_calibration
from tlslab.analysis.costs.model import Check, CostModel
from tlslab.analysis.costs.processors_needed import Bounds, size, widened
from tlslab.analysis.costs.summary import calibration
from tlslab.analysis.stats.queue import exceeds, mean_response, waiting_probability
from tlslab.domain.capacity import Objective
from tlslab.domain.estimate import Estimate


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


def model() -> CostModel:
    found = calibration(made_calibration(noise=0.01)).model
    assert found is not None
    return found


MODEL = model()
MIX = {**MODEL.centre, "resumed": "60%", "requests": "8", "document_bytes": "4096"}


def test_the_rate_of_processors_follows_from_the_cost() -> None:
    found = size(MODEL, (), MIX, Bounds(0.8, None), processors=3)
    cost = found.cost
    assert cost.low is not None
    assert cost.high is not None
    carried = [3 * 0.8 / (each * 1e-6) for each in (cost.value, cost.high, cost.low)]
    assert [found.rate, found.rate_low, found.rate_high] == pytest.approx(carried)
    assert (found.processors, found.processors_low, found.processors_high) == (3, 3, 3)
    assert found.busy == pytest.approx(0.8)
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


def test_the_parts_of_a_mix_come_with_the_most_expensive_first() -> None:
    shares = size(MODEL, (), MIX, Bounds(0.8, None), processors=1).shares
    assert [share.cost_us for share in shares] == sorted(
        (share.cost_us for share in shares), reverse=True
    )
    by_name = {share.part: share for share in shares}
    assert set(by_name) == {"full handshake", "resumed handshake", "request", "kB sent"}
    assert by_name["request"].count == 8
    assert by_name["request"].cost_us == pytest.approx(8 * MODEL.part("request").value)
