"""How often changes are found, with and without a real change: simulated histories.

Runs that differ by independent noise keep the promised rates. Runs whose noise is correlated, and
machines that drift, do not: docs/concepts.md has these figures.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from tlslab.analysis.history.run_history import SeriesChange, find, welch
from tlslab.analysis.stats.change_points import segments

pytestmark = pytest.mark.simulation

HISTORIES = 1_000
CELLS = 5

# A rate and a cost for each cell.
SERIES = 2 * CELLS

# The standard deviation of a run's estimate, as a share.
NOISE = 0.02


def histories(
    count: int, runs: int, memory: float = 0.0, drift: float = 0.0, seed: int = 1
) -> Iterator[np.ndarray]:
    """Logarithms of the estimates, shape (SERIES, runs), in units of the noise.

    `memory` is the coefficient of AR(1) noise, whose standard deviation stays 1; `drift` is the
    whole shift from the first run to the last one.
    """
    random = np.random.default_rng(seed)
    for _ in range(count):
        noise = random.normal(size=(SERIES, runs))
        for now in range(1, runs):
            fresh = np.sqrt(1 - memory**2) * noise[:, now]
            noise[:, now] = memory * noise[:, now - 1] + fresh
        yield noise + drift * np.linspace(0, 1, runs)


def found(logs: np.ndarray) -> list[SeriesChange]:
    return find(list(np.exp(NOISE * logs)), smallest=1e-6)


def share_with_a_change(made: Iterator[np.ndarray], count: int) -> float:
    return sum(any(each.points for each in found(logs)) for logs in made) / count


@pytest.mark.parametrize(("runs", "count"), [(20, HISTORIES), (8, 2 * HISTORIES), (60, 200)])
def test_without_a_change_at_most_one_history_of_twenty_has_one(runs: int, count: int) -> None:
    assert share_with_a_change(histories(count, runs), count) <= 0.05


def test_noise_that_all_cells_of_a_run_share_gives_no_more() -> None:
    random = np.random.default_rng(5)
    made = (
        0.8 * random.normal(size=(1, 20)) + 0.6 * random.normal(size=(SERIES, 20))
        for _ in range(500)
    )
    assert share_with_a_change(made, 500) <= 0.05


@pytest.mark.parametrize("runs", [10, 15])
def test_a_step_of_three_standard_deviations_is_found_nine_times_of_ten(runs: int) -> None:
    """In one cell, in its rate and its cost; at most one run beside its place."""
    count = 300
    hits = 0
    for logs in histories(count, 2 * runs, seed=2):
        logs[0, runs:] -= 3
        logs[1, runs:] += 3
        points = [point.index for each in found(logs)[:2] for point in each.points]
        hits += any(abs(point - runs) <= 1 for point in points)
    assert hits >= 0.9 * count


def test_of_the_series_that_are_reported_one_of_twenty_is_false() -> None:
    """Half of the series have a step: the false discovery rate, on average."""
    shares = []
    for logs in histories(300, 20, seed=3):
        logs[: SERIES // 2, 10:] += 3
        reported = [number for number, each in enumerate(found(logs)) if each.points]
        shares.append(sum(number >= SERIES // 2 for number in reported) / max(1, len(reported)))
    assert np.mean(shares) <= 0.05


@pytest.mark.parametrize(("step", "newer", "least"), [(5, 2, 0.75), (5, 3, 0.95), (3, 4, 0.9)])
def test_a_slowdown_is_established_after_a_few_newer_runs(
    step: float, newer: int, least: float
) -> None:
    """A step after 20 runs is found near its place, with an interval that excludes 1."""
    hits = 0
    for logs in histories(200, 20 + newer, seed=9):
        logs[0, 20:] -= step
        logs[1, 20:] += step
        hits += any(established(each, 20) for each in found(logs)[:2])
    assert hits >= least * 200


def established(each: SeriesChange, place: int) -> bool:
    points = [point.index for point in each.points]
    if not any(abs(point - place) <= 1 for point in points):
        return False
    parts = segments(each.logs, points)
    interval = welch(parts[-2], parts[-1])
    return interval is not None and not interval[0] <= 0 <= interval[1]


@pytest.mark.parametrize(
    ("memory", "drift", "least", "most"),
    [(0.3, 0.0, 0.2, 0.45), (0.6, 0.0, 0.85, 1.0), (0.0, 1.0, 0.1, 0.35), (0.0, 2.0, 0.75, 0.95)],
)
def test_noise_with_a_memory_and_drift_break_the_promise(
    memory: float, drift: float, least: float, most: float
) -> None:
    """The figures for 20 runs of which docs/concepts.md warns."""
    assert least <= share_with_a_change(histories(200, 20, memory, drift), 200) <= most
