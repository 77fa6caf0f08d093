"""The scalability law, the knee and the jackknife on values with known answers."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import scipy

from tlslab.analysis.stats.estimate import Array
from tlslab.analysis.stats.scaling import (
    Block,
    Law,
    find_knee,
    fit_law,
    fitted_peak,
    jackknifed,
    law_value,
)
from tlslab.domain.estimate import Estimate

LEVELS = (1, 2, 4, 8, 16, 32)

# Beyond twice the highest level no peak is reported.
FURTHEST = 64.0


def throughput(one: float, contention: float, coherency: float, n: float) -> float:
    """Gunther's formula, written independently."""
    return one * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def exact(one: float, contention: float, coherency: float) -> dict[int, float]:
    return {n: throughput(one, contention, coherency, n) for n in LEVELS}


def noisy(seed: int, blocks: int = 5) -> list[dict[int, float]]:
    """Blocks of different speed, each value with 5 % of noise; the second block lacks a level."""
    draw = np.random.default_rng(seed)
    speeds = np.linspace(200, 400, blocks)
    found = [
        {n: x * float(np.exp(draw.normal(0, 0.05))) for n, x in exact(speed, 0.1, 0.003).items()}
        for speed in speeds
    ]
    del found[1][8]
    return found


def law_of(blocks: Sequence[Block]) -> Law:
    law = fit_law(blocks)
    assert law is not None
    return law


def test_the_law_by_hand() -> None:
    assert law_value((2.0, 0.5, 0.25), 3) == pytest.approx(12 / 7)
    assert law_value((7.0, 0.3, 0.2), 1) == 7.0


def test_blocks_of_different_speed_have_the_geometric_mean_of_it() -> None:
    blocks = [exact(100, 0.08, 0.002), exact(400, 0.08, 0.002)]
    for _ in range(2):
        law = law_of(blocks)
        assert law.per_one.value == pytest.approx(200, rel=1e-4)
        assert law.contention.value == pytest.approx(0.08, rel=1e-3)
        assert law.coherency.value == pytest.approx(0.002, rel=1e-3)
        # A block counts once, whatever the number of its levels.
        blocks[1].pop(8, None)


def test_the_law_is_the_least_squares_fit_of_logarithms() -> None:
    """With one parameter for the speed of each block, as the model is defined."""
    blocks = noisy(3)
    rows = [(i, n, x) for i, block in enumerate(blocks) for n, x in block.items()]
    number, n, x = (np.array(column) for column in zip(*rows, strict=True))

    def residuals(parameters: np.ndarray) -> np.ndarray:
        speeds, (contention, coherency) = parameters[:-2], parameters[-2:]
        load = 1 + contention * (n - 1) + coherency * n * (n - 1)
        return np.asarray(np.log(x) - (speeds[number] + np.log(n) - np.log(load)))

    start = [*[math.log(300)] * len(blocks), 0.2, 0.01]
    found = scipy.optimize.least_squares(residuals, start, ftol=1e-15, xtol=1e-15, gtol=1e-15).x
    law = law_of(blocks)
    assert law.contention.value == pytest.approx(found[-2], rel=1e-3)
    assert law.coherency.value == pytest.approx(found[-1], rel=1e-3)
    assert law.per_one.value == pytest.approx(math.exp(found[:-2].mean()), rel=1e-4)


@pytest.mark.parametrize("seed", [5, 6, 7, 8])
def test_the_fit_knows_its_derivative(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Four evaluations; a derivative by differences, or a wrong one, takes ten at least."""
    calls = 0
    fit = scipy.optimize.least_squares

    def counted(residuals: Callable[[Array], Array], *rest: Any, **more: Any) -> Any:
        def each(shape: Array) -> Array:
            nonlocal calls
            calls += 1
            return residuals(shape)

        return fit(each, *rest, **more)

    monkeypatch.setattr(scipy.optimize, "least_squares", counted)
    assert fitted_peak(noisy(seed)) is not None
    assert 0 < calls <= 7


def test_a_level_without_throughput_was_not_measured() -> None:
    blocks = noisy(4)
    stalled = [dict(block) for block in blocks]
    stalled[1][8] = 0.0
    assert fit_law(stalled) == fit_law(blocks)
    assert fit_law([dict.fromkeys(LEVELS, 0.0), *blocks]) == fit_law(blocks)
    assert fitted_peak([dict.fromkeys(LEVELS, 0.0), *stalled]) == fitted_peak(blocks)
    three = [{1: 1.0, 2: 1.9, 4: 3.5, 8: 0.0}] * 5
    assert fit_law(three) is None
    assert fitted_peak(three) is None


def test_a_peak_takes_four_levels_and_any_unit() -> None:
    four = [{n: x for n, x in block.items() if n <= 8} for block in noisy(8)]
    peak = fitted_peak(four)
    assert peak is not None
    assert peak == law_of(four).peak.value
    slow = [{n: x / 1e6 for n, x in block.items()} for block in four]
    assert fitted_peak(slow) == pytest.approx(peak / 1e6, rel=1e-3)
    assert law_of(slow).per_one.value == pytest.approx(law_of(four).per_one.value / 1e6, rel=1e-3)
    assert law_of(slow).r_squared == pytest.approx(law_of(four).r_squared, rel=1e-3)


@pytest.mark.parametrize(
    ("contention", "coherency", "at"),
    [(0.5, 0.005, 10.0), (0.08, 0.92 / 40**2, 40.0), (0.08, 0.92 / 70**2, None), (0.05, 0.0, None)],
)
def test_a_peak_is_reported_up_to_twice_the_highest_level(
    contention: float, coherency: float, at: float | None
) -> None:
    blocks = [exact(500, contention, coherency)] * 5
    law = law_of(blocks)
    highest = throughput(500, contention, coherency, FURTHEST if at is None else at)
    assert law.peak.value == pytest.approx(highest, rel=1e-4)
    assert fitted_peak(blocks) == pytest.approx(highest, rel=1e-4)
    if at is None:
        assert law.peak_at is None
    else:
        assert law.peak_at is not None
        assert law.peak_at.value == pytest.approx(at, rel=1e-3)


def test_the_fit_names_its_units_and_method() -> None:
    law = law_of(noisy(5))
    assert law.peak_at is not None
    estimates = (law.per_one, law.contention, law.coherency, law.peak_at, law.peak)
    assert [each.unit for each in estimates] == ["1/s", "", "", "threads", "1/s"]
    method = "fit of logarithms; jackknife over 5 blocks, Student t, 95 %"
    assert {each.method for each in estimates} == {method}
    assert {each.n for each in estimates} == {5}


LEVEL = [{n: 100.0 + 5 * (i % 2) + i for i, n in enumerate(LEVELS)}] * 5


@pytest.mark.parametrize("blocks", [noisy(6), LEVEL], ids=["of speeds", "almost level"])
def test_the_share_explained_is_of_the_logarithms_of_all_values(blocks: Sequence[Block]) -> None:
    law = law_of(blocks)
    pairs = [(n, x) for block in blocks for n, x in block.items()]
    logs = np.log([x for _, x in pairs])
    left = logs - np.log([law.at(n) for n, _ in pairs])
    assert law.r_squared == pytest.approx(1 - (left**2).sum() / ((logs - logs.mean()) ** 2).sum())
    assert law.r_squared < 0.95


def test_of_equal_throughput_all_is_explained() -> None:
    assert law_of([dict.fromkeys(LEVELS, 1.0)] * 5).r_squared == 1.0


def ends(value: float, without: Sequence[float], log: bool) -> tuple[float, float]:
    """The jackknife's interval by its definition (Efron and Tibshirani 1993, chapter 11)."""
    n = len(without)
    theta = math.log(value) if log else value
    left = np.log(without) if log else np.array(without)
    spread = (n * theta - (n - 1) * left).std(ddof=1)
    half = float(scipy.stats.t.ppf(0.975, n - 1) * spread / math.sqrt(n))
    if log:
        return math.exp(theta - half), math.exp(theta + half)
    return max(0.0, value - half), value + half


def checked(found: Estimate, without: Sequence[float], log: bool) -> None:
    assert found.low is not None
    assert found.high is not None
    low, high = ends(found.value, without, log)
    assert found.low == pytest.approx(low, rel=1e-6, abs=1e-12)
    assert found.high == pytest.approx(high, rel=1e-6)


def test_the_intervals_of_a_fit_come_from_the_fits_without_each_block() -> None:
    blocks = noisy(7)
    law = law_of(blocks)
    # Four blocks have values but no interval.
    rest = [law_of([*blocks[:i], *blocks[i + 1 :]]) for i in range(5)]
    checked(law.per_one, [each.per_one.value for each in rest], log=True)
    checked(law.contention, [each.contention.value for each in rest], log=False)
    checked(law.coherency, [each.coherency.value for each in rest], log=False)
    checked(law.peak, [each.peak.value for each in rest], log=True)
    at = [FURTHEST if each.peak_at is None else each.peak_at.value for each in rest]
    assert law.peak_at is not None
    checked(law.peak_at, at, log=True)


def test_a_peak_that_one_block_alone_shows_is_taken_as_the_furthest_without_it() -> None:
    blocks = [exact(500, 0.05, 0.0)] * 4 + [exact(500, 0.05, 0.02)]
    law = law_of(blocks)
    rest = [law_of([*blocks[:i], *blocks[i + 1 :]]) for i in range(5)]
    assert law.peak_at is not None
    assert rest[4].peak_at is None
    at = [FURTHEST if each.peak_at is None else each.peak_at.value for each in rest]
    checked(law.peak_at, at, log=True)


def test_the_jackknife_by_hand() -> None:
    """Pseudo-values 12, 10, 8, 10, 10: their standard error is the root of 2 / 5."""
    found = jackknifed(10.0, [9.5, 10.0, 10.5, 10.0, 10.0], "1/s", "a mean", may_be_zero=True)
    half = 2.776445 * math.sqrt(2 / 5)
    assert (found.low, found.high) == pytest.approx((10 - half, 10 + half), rel=1e-6)
    method = "a mean; jackknife over 5 blocks, Student t, 95 %"
    assert (found.value, found.n, found.unit, found.method) == (10.0, 5, "1/s", method)


def test_the_jackknife_of_logarithms_by_hand() -> None:
    """Pseudo-values 2.4, 2, 1.6, 2, 2 of the logarithm 2."""
    without = [math.exp(log) for log in (1.9, 2.0, 2.1, 2.0, 2.0)]
    found = jackknifed(math.exp(2), without, "", "a mean")
    half = 2.776445 * math.sqrt(0.08 / 5)
    assert found.value == math.exp(2)
    assert (found.low, found.high) == pytest.approx((math.exp(2 - half), math.exp(2 + half)))


def test_a_mean_that_is_zero_without_a_block_counts_as_a_billionth() -> None:
    found = jackknifed(1.0, [0.0, 1.0, 1.0, 1.0, 1.0], "", "a mean")
    # Pseudo-values 4 ln 1e9, 0, 0, 0, 0.
    half = 2.776445 * 4 * math.log(1e9) / 5
    assert found.high is not None
    assert math.log(found.high) == pytest.approx(half, rel=1e-6)


def test_a_number_that_may_be_nothing_ends_there() -> None:
    found = jackknifed(1.0, [0.5, 1.0, 1.5, 1.0, 1.0], "", "a mean", may_be_zero=True)
    assert found.low == 0.0
    assert jackknifed(3.0, [], "s", "a mean") == Estimate(
        3.0, None, None, 0, "s", "fewer than 5 blocks: no interval"
    )


# Three logarithms of a ratio whose t is 4.85 and 7.1: p is 0.040 and 0.019.
WEAK = (0.1 - 0.0357, 0.1, 0.1 + 0.0357)
STRONG = (0.1 - 0.0244, 0.1, 0.1 + 0.0244)
# Their mean is 0.05, their p 0.76.
NOTHING = (-0.2, 0.3, 0.05)


def ratios(*logs: Sequence[float]) -> list[dict[int, float]]:
    """Three blocks with 100/s at one thread, and these multiples at 2, 4, ..."""
    return [
        {1: 100.0, **{2 ** (i + 1): 100 * math.exp(each[b]) for i, each in enumerate(logs)}}
        for b in range(3)
    ]


def upper(logs: Sequence[float]) -> float:
    """The upper end of Student's interval for the mean of three values."""
    return float(np.mean(logs) + 4.302653 * np.std(logs, ddof=1) / math.sqrt(3))


@pytest.mark.parametrize(
    ("logs", "at"),
    [
        ((WEAK,), 2),
        ((STRONG,), 2),
        # Of two higher levels each has half of the 5 %.
        ((WEAK, NOTHING), 1),
        ((STRONG, NOTHING), 2),
        ((NOTHING, STRONG), 2),
        # A slower level is not a gain, however clear.
        ((tuple(-each for each in STRONG),), 1),
    ],
    ids=["weak", "strong", "weak of two", "strong of two", "strong second", "slower"],
)
def test_higher_levels_are_one_family(logs: Sequence[Sequence[float]], at: int) -> None:
    knee = find_knee(ratios(*logs))
    assert knee is not None
    assert (knee.at.value, knee.at.low, knee.at.n, knee.at.unit) == (at, at, 3, "threads")
    assert knee.at_end == (at == 2 ** len(logs))


def test_the_gain_is_the_most_that_any_higher_level_may_bring() -> None:
    knee = find_knee(ratios(WEAK, NOTHING))
    assert knee is not None
    assert upper(NOTHING) > upper(WEAK)
    assert knee.gain == pytest.approx(math.exp(upper(NOTHING)), rel=1e-6)
    assert knee.at.high == 4
    assert knee.at.method == (
        "no higher one detectably faster; above the second a gain of 2% excluded"
    )
    slower = find_knee(ratios([-each for each in WEAK]))
    assert slower is not None
    assert slower.gain == pytest.approx(math.exp(upper([-each for each in WEAK])), rel=1e-6)
    assert slower.at.high == 1


@pytest.mark.parametrize(("mean", "spread", "high"), [(0.005, 0.004, 1), (0.01, 0.0045, 2)])
def test_a_gain_of_up_to_2_percent_is_none(mean: float, spread: float, high: int) -> None:
    """Neither gain is established. The upper ends are 1.5 % and 2.1 %."""
    logs = (mean - spread, mean, mean + spread)
    assert (upper(logs) <= math.log(1.02)) == (high == 1)
    knee = find_knee(ratios(logs))
    assert knee is not None
    assert (knee.at.value, knee.at.low, knee.at.high) == (1, 1, high)


def test_a_gain_that_is_sure_moves_the_knee_however_small_it_is() -> None:
    """The interval contains the knee, although no level above the first brings a relevant gain."""
    knee = find_knee([{1: 100.0, 2: 101.5, 4: 101.5}] * 3)
    assert knee is not None
    assert (knee.at.value, knee.at.low, knee.at.high, knee.gain) == (2, 2, 2, 1.0)


@pytest.mark.parametrize(
    ("values", "linear_to"),
    [
        ({1: 100.0, 2: 181.0, 4: 361.0}, 4),
        ({1: 100.0, 2: 179.0, 4: 361.0}, 1),
        ({1: 100.0, 2: 181.0, 4: 359.0}, 2),
        ({2: 100.0, 4: 179.0}, 2),
    ],
)
def test_a_level_is_linear_from_nine_tenths_of_its_share_on(
    values: dict[int, float], linear_to: int
) -> None:
    knee = find_knee([values] * 3)
    assert knee is not None
    assert knee.linear_to == linear_to


def test_a_level_that_no_block_has_beside_the_lowest_ends_what_is_linear() -> None:
    knee = find_knee([{1: 100.0, 4: 400.0}, {1: 100.0, 4: 400.0}, {2: 200.0, 4: 400.0}])
    assert knee is not None
    assert knee.linear_to == 1


def test_one_level_has_no_knee() -> None:
    assert find_knee([{1: 100.0}] * 3) is None
