"""Change points: known steps must be found, and noise must not be taken for a step."""

import numpy as np
import pytest
import scipy

from tlslab.analysis.stats.change_points import change_points, findable, segments, student_p

LEVEL = 0.05


def normal(seed: int, *means: tuple[float, int]) -> np.ndarray:
    """Normal noise of one standard deviation around these means, with these lengths."""
    noise = np.random.default_rng(seed)
    return np.concatenate([mean + noise.normal(size=count) for mean, count in means])


def places(values: np.ndarray, level: float = LEVEL, magnitude: float = 0.0) -> list[int]:
    return [point.index for point in change_points(values, level, magnitude)]


def test_the_p_value_is_that_of_scipy() -> None:
    left, right = normal(1, (0, 7)), normal(2, (1, 5))
    expected = scipy.stats.ttest_ind(left, right, equal_var=True).pvalue
    assert student_p(left, right) == pytest.approx(float(expected))


def test_a_side_of_one_value_borrows_the_noise_of_the_other() -> None:
    left = np.array([1.0, 1.1, 0.9, 1.0, 1.05, 0.95])
    assert student_p(left, np.array([2.0])) < 1e-4
    assert student_p(np.array([1.0]), np.array([2.0])) == 1.0
    assert student_p(np.full(3, 1.0), np.full(3, 1.0)) == 1.0
    assert student_p(np.full(3, 1.0), np.full(3, 2.0)) == 0.0


def test_p_values_are_adjusted_for_the_number_of_values() -> None:
    values = normal(1, (0, 10), (5, 10))
    (point,) = change_points(values, LEVEL)
    left, right = segments(values, [point.index])
    assert point.index == 10
    assert point.p == pytest.approx(20 * student_p(left, right))


def test_several_steps_are_found_in_their_places() -> None:
    values = normal(4, (0, 15), (6, 15), (0, 15), (-6, 15))
    assert places(values) == [15, 30, 45]


def test_a_step_beyond_the_first_window_is_found() -> None:
    values = normal(3, (0, 90), (5, 40))
    assert places(values) == [90]


def test_a_short_dip_between_equal_levels_is_found() -> None:
    values = normal(6, (0, 12), (-8, 2), (0, 12))
    assert places(values) == [12, 14]


def test_steps_below_the_magnitude_are_merged() -> None:
    values = normal(7, (0, 20), (4, 20)) / 100
    assert places(values, magnitude=0.02) == [20]
    assert places(values, magnitude=0.06) == []


def test_appended_values_leave_an_older_change_in_its_place() -> None:
    values = normal(2, (0, 20), (4, 60))
    assert [places(values[:count]) for count in (26, 40, 55, 80)] == [[20]] * 4


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_values_have_no_change(count: int) -> None:
    assert places(np.arange(count, dtype=float)) == []


def test_equal_values_have_no_change_and_two_levels_without_noise_one() -> None:
    assert places(np.full(12, 3.0)) == []
    assert places(np.repeat([1.0, 2.0], 6)) == [6]


def test_the_order_of_the_same_values_alone_makes_a_change() -> None:
    values = normal(9, (0, 10), (5, 10))
    mixed = values.reshape(2, 10).T.ravel()
    assert places(values) == [10]
    assert places(mixed) == []


@pytest.mark.simulation
@pytest.mark.parametrize(("count", "series"), [(8, 2000), (20, 2000), (60, 500)])
def test_noise_alone_has_a_change_in_at_most_one_series_of_twenty(count: int, series: int) -> None:
    assert sum(bool(places(normal(n, (0, count)))) for n in range(series)) <= 0.05 * series


@pytest.mark.simulation
@pytest.mark.parametrize("count", [10, 20, 40])
def test_the_step_that_can_be_found_is_found_nine_times_of_ten(count: int) -> None:
    step = findable(normal(10, (0, count)) * 0 + np.resize([-1.0, 1.0], count), [], LEVEL)
    # The noise of that series has the variance n / (n - 1).
    step *= np.sqrt((count - 1) / count)
    half = count // 2
    found = sum(bool(places(normal(100 + n, (0, half), (step, half)))) for n in range(300))
    assert found >= 0.86 * 300
