"""Memory per connection as the slope over levels."""

import numpy as np
import pytest
import scipy

from factories.noise import Tails, ar1
from tlslab.analysis.stats.slope import slope, slopes
from tlslab.domain.scale import ScalePoint, Slope
from tlslab.lab.idle_memory import kernel_bytes


def test_a_line_gives_its_slope_and_a_narrow_interval() -> None:
    found = slope("client", [1000, 5000, 10_000], [9_000_000, 29_000_000, 54_000_000])
    assert found.value == pytest.approx(5000)
    assert found.low == pytest.approx(5000)
    assert found.high == pytest.approx(5000)


def test_the_interval_is_students_at_least() -> None:
    """Slope 10.5, residuals -1, 2, -1 over x = 0, 1, 2: t with one degree of freedom is 12.706."""
    found = slope("client", [0, 1, 2], [0, 13, 21])
    error = (((-5 / 6) ** 2 + (5 / 3) ** 2 + (-5 / 6) ** 2) / 1 / 2) ** 0.5
    assert found.low is not None
    assert found.high is not None
    assert found.value == pytest.approx(10.5)
    assert found.low <= 10.5 - 12.7062 * error
    assert found.high >= 10.5 + 12.7062 * error
    assert found.n == 3


def correlated(seed: int, coefficient: float) -> tuple[list[int], list[int]]:
    """Levels, and memory with noise of which neighbours are so much alike."""
    x = np.array([1000.0 * (i + 1) for i in range(24)])
    noise = ar1(np.random.default_rng(seed), len(x), coefficient, 200_000, "normal")
    y = np.round(5_000_000 + 4000 * x + noise)
    return x.astype(int).tolist(), y.astype(int).tolist()


def by_coefficient(connections: list[int], size: list[int]) -> list[tuple[float, float, float]]:
    """The likelihood of each coefficient, and the ends of its interval of 96 %.

    By the covariances of AR(1) noise themselves, without the transform of Prais and Winsten.
    """
    x, y = np.array(connections, float), np.array(size, float)
    design = np.column_stack([np.ones_like(x), x])
    apart = np.abs(np.subtract.outer(np.arange(len(x)), np.arange(len(x))))
    degrees = len(x) - 2
    found = []
    for f in np.arange(9) / 10:
        inverse = np.linalg.inv(f**apart / (1 - f**2))
        squares = design.T @ inverse @ design
        fitted = np.linalg.solve(squares, design.T @ inverse @ y)
        rest = y - design @ fitted
        variance = rest @ inverse @ rest / degrees
        determinants = np.linalg.slogdet(inverse)[1] - np.linalg.slogdet(squares)[1]
        half = scipy.stats.t.ppf(0.98, degrees) * np.sqrt(variance * np.linalg.inv(squares)[1, 1])
        likely = determinants - degrees * np.log(variance)
        found.append((float(likely), float(fitted[1] - half), float(fitted[1] + half)))
    return found


# Small coefficients are excluded, or large ones, some of them only just.
@pytest.mark.parametrize(("seed", "coefficient"), [(5, 0.7), (1, 0.0), (3, 0.0)])
def test_the_interval_is_the_union_over_the_coefficients_that_are_not_excluded(
    seed: int, coefficient: float
) -> None:
    x, y = correlated(seed, coefficient)
    each = by_coefficient(x, y)
    most = max(likely for likely, _, _ in each)
    kept = [ends for likely, *ends in each if most - likely <= 6.634897]
    assert 1 < len(kept) < len(each)
    found = slope("client", x, y)
    assert found.value == pytest.approx(scipy.stats.linregress(x, y).slope)
    assert found.low == pytest.approx(min(found.value, *(low for low, _ in kept)), rel=1e-6)
    assert found.high == pytest.approx(max(found.value, *(high for _, high in kept)), rel=1e-6)


def test_the_likeliest_coefficient_is_never_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all others are: a likelihood that is as high as the highest is kept."""
    monkeypatch.setattr("tlslab.analysis.stats.slope.EXCLUDED", 1.0)
    monkeypatch.setattr("tlslab.analysis.stats.slope.CONFIDENCE", -0.04)
    x, y = correlated(5, 0.7)
    _, low, high = max(by_coefficient(x, y))
    found = slope("client", x, y)
    assert found.low == pytest.approx(min(found.value, low), rel=1e-6)
    assert found.high == pytest.approx(max(found.value, high), rel=1e-6)


@pytest.mark.simulation
@pytest.mark.parametrize("levels", [4, 10])
@pytest.mark.parametrize("tails", ["normal", "t3"])
@pytest.mark.parametrize("coefficient", [0.0, 0.3, 0.5, 0.8])
def test_the_interval_holds_the_truth_under_autocorrelation(
    levels: int, tails: Tails, coefficient: float
) -> None:
    """In at least 93 % of 400 series, minus two standard errors of such a count."""
    times, held = 400, 0
    x = [1000 * (i + 1) for i in range(levels)]
    for seed in range(times):
        noise = ar1(np.random.default_rng(seed), levels, coefficient, 200_000, tails)
        y = [round(5_000_000 + 4000 * n + e) for n, e in zip(x, noise, strict=True)]
        found = slope("server", x, y)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 4000 <= found.high
    assert held >= (0.93 - 2 * (0.93 * 0.07 / times) ** 0.5) * times


@pytest.mark.simulation
@pytest.mark.parametrize("tails", ["normal", "t3"])
def test_a_drift_in_step_with_the_levels_is_counted_as_memory_of_connections(tails: Tails) -> None:
    """Readings cannot separate memory and drift: the interval contains their sum, and not the
    memory alone if the drift is large.
    """
    times, both, alone = 400, 0, 0
    x = [1000 * (i + 1) for i in range(5)]
    for seed in range(times):
        noise = ar1(np.random.default_rng(seed), 5, 0.3, 20_000, tails)
        y = [round(5_000_000 + (4000 + 200) * n + e) for n, e in zip(x, noise, strict=True)]
        found = slope("server", x, y)
        assert found.low is not None
        assert found.high is not None
        both += found.low <= 4200 <= found.high
        alone += found.low <= 4000 <= found.high
    assert both >= (0.93 - 2 * (0.93 * 0.07 / times) ** 0.5) * times
    assert alone < 0.5 * times


@pytest.mark.simulation
@pytest.mark.parametrize("tails", ["normal", "t3"])
def test_the_interval_holds_the_truth_where_a_drift_levels_off(tails: Tails) -> None:
    """A cache that fills within the first levels, up to the size of the noise."""
    times, held = 400, 0
    x = [1000 * (i + 1) for i in range(5)]
    for seed in range(times):
        noise = ar1(np.random.default_rng(seed), 5, 0.3, 200_000, tails)
        filled = 200_000 * (1 - np.exp(-np.arange(5)))
        y = [round(5e6 + 4000 * n + e + c) for n, e, c in zip(x, noise, filled, strict=True)]
        found = slope("server", x, y)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 4000 <= found.high
    assert held >= (0.93 - 2 * (0.93 * 0.07 / times) ** 0.5) * times


def test_two_levels_have_no_interval_and_one_no_slope() -> None:
    assert slope("client", [1, 2], [5, 9]) == Slope("client", 4.0, None, None, 2)
    with pytest.raises(ValueError, match=r"^a slope needs two levels at least$"):
        slope("client", [1, 1], [5, 9])


def test_a_side_that_was_not_read_has_no_slope() -> None:
    readings = tuple(ScalePoint(n, n * 10, None, n * 3) for n in (1, 2, 3))
    assert [found.what for found in slopes(readings)] == ["client", "kernel"]
    both = tuple(ScalePoint(n, n * 10, n * 20, n * 3) for n in (1, 2, 3))
    assert [(found.what, round(found.value)) for found in slopes(both)] == [
        ("client", 10),
        ("server", 20),
        ("kernel", 3),
    ]
    assert len(slopes(both[:2])) == 3
    assert slopes(both[:1]) == ()


def test_the_kernels_part_is_slabs_and_buffers() -> None:
    sockstat = "sockets: used 5\nTCP: inuse 3 orphan 0 tw 0 alloc 4 mem 2\nUDP: inuse 1 mem 9\n"
    meminfo = "MemTotal: 100 kB\nSlab:   7 kB\n"
    assert kernel_bytes(sockstat, meminfo) == 2 * 4096 + 7 * 1024
