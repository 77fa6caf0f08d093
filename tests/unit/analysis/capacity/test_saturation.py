"""The highest load that meets an objective, on queues with a known answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlslab.analysis.capacity.saturation import Crossing, Loaded, capacity, crossing

LOADS = (200.0, 400.0, 600.0, 800.0, 1000.0)


def queue(limit: float = 1000.0, service_ms: float = 1.0) -> list[Loaded]:
    """Times of an M/M/1 queue; at its limit it does not keep up."""
    return [Loaded(x, service_ms / (1 - x / limit) if x < limit else 1e3, x < limit) for x in LOADS]


def test_the_crossing_lies_between_the_loads_that_enclose_it() -> None:
    found = crossing(queue(), 3.0)
    assert found.bound == "exact"
    assert 600 < found.load < 800
    assert found.load == pytest.approx(1000 * (1 - 1 / 3), rel=0.03)


def test_a_load_that_is_not_kept_is_an_end_and_no_time() -> None:
    assert crossing(queue(), 500.0) == Crossing(800.0, "between", 1000.0)


def test_repetitions_that_end_at_the_same_load_are_no_exact_answer() -> None:
    """All repetitions kept up with 800, and none with 1,000: nothing is known between."""
    found = capacity([queue()] * 5, 500.0)
    assert found is not None
    assert (found.bound, found.load.value, found.end) == ("between", 800.0, 1000.0)
    assert (found.load.low, found.load.high, found.reservation) == (None, None, "")


def test_one_repetition_without_a_time_leaves_all_without_an_interval() -> None:
    """By their times, four cross below 800, and one above."""
    found = capacity([*[queue(service_ms=150.0)] * 4, queue()], 500.0)
    assert found is not None
    assert (found.bound, found.end) == ("between", 1000.0)
    assert 600 < found.load.value < 800


def test_the_time_is_interpolated_on_its_logarithm_and_on_its_reciprocal() -> None:
    """Half way from 0.5 to 8 ms lies 2 ms; four fifths of the way from 2/ms to 1/8 ms lies 1/2."""
    found = crossing([Loaded(100, 0.5, True), Loaded(200, 8, True)], 2.0)
    assert found == Crossing(150.0, "exact", 180.0)
    zero = crossing([Loaded(100, 0.0, True), Loaded(200, 8, True)], 2.0)
    assert zero == Crossing(100.0, "exact", 200.0)


@pytest.mark.parametrize("limit", [1.3, 2.0, 3.0, 4.9])
def test_the_reciprocal_of_the_time_is_linear_in_mm1(limit: float) -> None:
    found = crossing(queue(), limit)
    assert found.end == pytest.approx(1000 * (1 - 1 / limit))
    assert found.load < 1000 * (1 - 1 / limit)


def test_the_interval_holds_both_interpolations() -> None:
    """Five repetitions without noise: either crossing alone has an interval of one point."""
    found = capacity([queue()] * 5, 3.0)
    one = crossing(queue(), 3.0)
    assert found is not None
    assert (found.load.value, found.load.low) == pytest.approx((one.load, one.load))
    assert found.load.high == pytest.approx(one.end)
    assert found.load.high == pytest.approx(1000 * (1 - 1 / 3))


def test_bounds_where_the_loads_do_not_enclose_it() -> None:
    assert crossing(queue(limit=1e6), 50.0) == Crossing(1000.0, "at_least")
    assert crossing(queue(), 1.0) == Crossing(200.0, "below")


def test_the_interval_is_over_repetitions() -> None:
    found = capacity([queue(1000), queue(1010), queue(990)], 3.0)
    assert found is not None
    assert found.bound == "exact"
    assert found.load.n == 3
    assert found.load.low is not None
    assert found.load.high is not None
    assert found.load.low < found.load.value < found.load.high
    assert found.load.unit == "1/s"
    assert found.load.method.startswith("interpolated between loads in each of 3 repetitions, by ")
    same = capacity([queue(), queue()], 3.0)
    assert same is not None
    assert same.load.unit == "1/s"


def test_the_interval_ends_at_the_loads_that_were_offered() -> None:
    """Student's interval over these three crossings would reach from below 200 to above 1,000."""
    found = capacity([queue(), queue(service_ms=0.7), queue(service_ms=2.2)], 3.0)
    assert found is not None
    assert found.bound == "exact"
    assert (found.load.low, found.load.high) == (LOADS[0], LOADS[-1])


def test_a_bound_has_no_interval() -> None:
    low = capacity([queue(service_ms=10), queue(service_ms=11)], 3.0)
    assert low is not None
    assert (low.bound, low.load.value, low.reservation) == ("below", 200.0, "")
    high = capacity([queue(1e6), queue(1e6)], 50.0)
    assert high is not None
    assert (high.bound, high.load.value, high.reservation) == ("at_least", 1000.0, "")
    assert (low.load.low, high.load.high) == (None, None)


def test_one_repetition_of_many_that_missed_does_not_decide() -> None:
    series = [queue(1000), queue(1010), queue(990), queue(1005), queue(service_ms=10)]
    found = capacity(series, 3.0)
    assert found is not None
    assert (found.bound, found.missed, found.exceeded, found.n) == ("exact", 1, 0, 5)
    clean = capacity(series[:4], 3.0)
    assert clean is not None
    # The middle one of five: one is below all others.
    assert found.load.value == pytest.approx(clean.load.value, rel=0.02)
    assert (found.load.low, found.load.high, found.end) == (None, None, None)
    assert found.reservation == "1 of 5 repetitions missed it at their lowest load"


def test_the_middle_of_censored_repetitions_is_the_lower_one() -> None:
    exact = capacity([queue(1e6), queue(1000)], 3.0)
    assert exact is not None
    assert exact.bound == "exact"
    assert exact.load.value < 800
    assert exact.reservation == "1 of 2 repetitions met it at their highest load"
    below = capacity([queue(), queue(service_ms=10)], 3.0)
    assert below is not None
    assert (below.bound, below.load.value, below.missed) == ("below", 200.0, 1)
    higher = [Loaded(400.0, 9.0, True)]
    both = capacity([queue(service_ms=10), higher], 3.0)
    assert both is not None
    assert (both.load.value, both.load.n) == (400.0, 2)


def test_a_bound_has_the_unit_the_number_and_the_method_of_its_value() -> None:
    censored = capacity([queue(), queue(service_ms=10), queue()], 3.0)
    assert censored is not None
    assert censored.load.unit == "1/s"
    assert censored.load.method == (
        "median of 3 repetitions, some of them known as a bound only: no interval"
    )
    between = capacity([queue()] * 5, 500.0)
    assert between is not None
    assert (between.load.unit, between.load.n, between.n) == ("1/s", 5, 5)
    assert between.load.method == (
        "the highest load at which each of 5 repetitions is known to meet the objective"
    )
    exact = capacity([queue()] * 4, 3.0)
    assert exact is not None
    assert exact.n == 4


def test_the_middle_repetition_may_lie_below_a_load_that_was_not_kept() -> None:
    """Two kept up with 800 and not with 1,000, one missed the objective at its lowest load."""
    found = capacity([queue(), queue(service_ms=1000.0), queue()], 500.0)
    assert found is not None
    assert (found.bound, found.load.value, found.end) == ("between", 800.0, 1000.0)
    assert (found.n, found.missed) == (3, 1)


def test_the_middle_of_five_is_the_third() -> None:
    series = [queue(limit) for limit in (900.0, 950.0, 1000.0, 1e6, 1e6)]
    found = capacity(series, 3.0)
    third = crossing(series[2], 3.0)
    assert found is not None
    assert (found.bound, found.load.value) == ("exact", third.load)
    four = capacity(series[:4], 3.0)
    assert four is not None
    assert four.load.value == crossing(series[1], 3.0).load


def test_of_several_least_values_the_lowest_holds_for_all() -> None:
    met = [[Loaded(load, 1.0, True)] for load in (700.0, 500.0, 900.0)]
    found = capacity([*met, queue()], 3.0)
    assert found is not None
    assert (found.bound, found.load.value, found.exceeded) == ("at_least", 500.0, 3)
    alone = capacity(met, 3.0)
    assert alone is not None
    assert (alone.load.value, alone.reservation) == (500.0, "")


def test_a_time_equal_to_the_limit_does_not_meet_it() -> None:
    points = [Loaded(100.0, 1.0, True), Loaded(200.0, 3.0, True)]
    assert crossing(points, 3.0) == Crossing(200.0, "exact", 200.0)
    assert crossing(points[1:], 3.0) == Crossing(200.0, "below")


def test_without_points_there_is_no_capacity() -> None:
    assert capacity([], 3.0) is None
    with pytest.raises(ValueError, match=r"^no loads$"):
        crossing([], 1.0)


@given(
    st.lists(st.tuples(st.floats(1, 1e5), st.floats(0.01, 1e4), st.booleans()), min_size=1),
    st.floats(0.01, 1e4),
)
def test_it_never_leaves_the_loads_that_were_tried(
    points: list[tuple[float, float, bool]], limit: float
) -> None:
    loads = [Loaded(*each) for each in points]
    found = crossing(loads, limit)
    offered = [each.offered for each in loads]
    assert min(offered) <= found.load <= max(offered) * (1 + 1e-9)
    assert found.end is None or found.load <= found.end <= max(offered)


@given(st.floats(1.1, 100), st.floats(1.1, 100))
def test_a_wider_limit_never_gives_a_lower_capacity(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert crossing(queue(), low).load <= crossing(queue(), high).load + 1e-9
