"""The parts of the classification by themselves, on series whose answers are known."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from tlslab.analysis.stats.steady_state import (
    _best_single,
    _cut,
    _ends,
    _explained,
    _Level,
    _proposals,
    _steps,
    likelihood,
)
from tlslab.domain.autoregression import Array

STEADY_STATE = "tlslab.analysis.stats.steady_state"

# The smallest scale of innovations, of rates in 100 ms.
LEAST = 0.002


def lengths(levels: Sequence[_Level]) -> list[int]:
    return [level.length for level in levels]


def means(levels: Sequence[_Level]) -> list[float]:
    return [level.mean for level in levels]


def fine(n: int) -> Array:
    """Noise without a mean, a slope or a correlation of neighbours: + - - + and so on."""
    return 0.0005 * np.resize([1.0, -1, -1, 1], n)


def line(n: int, change: float) -> Array:
    return np.asarray(8 + np.linspace(-0.5, 0.5, n) * change + fine(n))


def steps(*levels: tuple[int, float]) -> Array:
    flat = np.concatenate([np.full(length, 8 + level) for length, level in levels])
    return np.asarray(flat + fine(len(flat)))


def likely(logs: Array, design: Array) -> float:
    return likelihood(logs, design, LEAST)[0]


def flat(n: int) -> Array:
    return np.ones((n, 1))


def straight(n: int) -> Array:
    return np.column_stack([np.ones(n), np.linspace(-0.5, 0.5, n)])


def uneven(seed: int, n: int = 30) -> Array:
    """Noise on levels that change once in five slices."""
    draw = np.random.default_rng(seed)
    changes = draw.normal(0, 0.06, n) * (draw.random(n) < 0.2)
    return np.asarray(8 + np.cumsum(changes) + draw.normal(0, 0.015, n))


@pytest.mark.parametrize("change", [-0.1, 0.1])
def test_the_change_of_a_line_is_from_start_to_end(change: float) -> None:
    levels, drift = _explained(line(24, change))
    assert drift == pytest.approx(change, rel=1e-3)
    assert lengths(levels) == [24]
    assert means(levels) == pytest.approx([8.0])


def test_a_line_counts_from_the_least_change_on(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = line(24, -0.1)
    _, drift = _explained(logs)
    monkeypatch.setattr(f"{STEADY_STATE}.EQUIVALENT", abs(drift))
    assert _explained(logs)[1] == drift
    monkeypatch.setattr(f"{STEADY_STATE}.EQUIVALENT", math.nextafter(abs(drift), 1))
    assert _explained(logs)[1] == 0.0


def test_a_line_of_a_small_change_is_none_however_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{STEADY_STATE}._LINE", -1e6)
    assert _explained(line(24, 0.02))[1] == 0.0
    assert _explained(line(24, 0.04))[1] != 0.0


def test_a_line_takes_a_rise_of_the_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two halves of it differ by less than EQUIVALENT: there is no other proposal.
    logs = line(24, 0.04)
    without, found = likely(logs, flat(24)), likely(logs, straight(24))
    rise = found - without
    assert found - rise == without
    for least, drifts in ((rise - 1e-6, True), (rise, False), (1e6, False)):
        monkeypatch.setattr(f"{STEADY_STATE}._LINE", least)
        levels, drift = _explained(logs)
        assert lengths(levels) == [24]
        assert (drift != 0.0) == drifts


def test_levels_must_be_likelier_than_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = steps((8, 0.0), (12, 0.1))
    assert lengths(_explained(logs)[0]) == [8, 12]
    assert _explained(logs)[1] == 0.0
    monkeypatch.setattr(f"{STEADY_STATE}._LINE", -1e6)
    levels, drift = _explained(logs)
    assert lengths(levels) == [20]
    assert drift > 0.03


def test_a_change_point_takes_a_rise_of_the_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = steps((8, 0.0), (12, 0.05))
    monkeypatch.setattr(f"{STEADY_STATE}._LINE", 1e6)
    without, found = likely(logs, flat(20)), likely(logs, _steps(20, (8,)))
    rise = found - without
    assert found - rise == without
    for least, expected in ((rise - 1e-6, [8, 12]), (rise, [20]), (1e6, [20])):
        monkeypatch.setattr(f"{STEADY_STATE}._CHANGE_POINT", least)
        assert lengths(_explained(logs)[0]) == expected


def test_each_of_several_change_points_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = steps((8, 0.0), (8, 0.5), (8, 0.0))
    monkeypatch.setattr(f"{STEADY_STATE}._LINE", 1e6)
    rise = likely(logs, _steps(24, (8, 16))) - likely(logs, flat(24))
    for share, expected in ((0.45, [8, 8, 8]), (0.6, [24])):
        monkeypatch.setattr(f"{STEADY_STATE}._CHANGE_POINT", share * rise)
        assert lengths(_explained(logs)[0]) == expected


def best_cuts(logs: Array, penalty: float) -> tuple[int, ...]:
    """The cuts of least squares with a penalty for each, over all cuts of 3 slices at least.

    By dynamic programming (Jackson et al. 2005), without pruning.
    """
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for end in range(3, len(logs) + 1):
        ways = []
        for start in [start for start in best if start <= end - 3]:
            part = logs[start:end]
            cost, cuts = best[start]
            left = float(((part - part.mean()) ** 2).sum())
            ways.append((cost + left + penalty, (*cuts, start) if start else ()))
        best[end] = min(ways)
    return best[len(logs)][1]


@pytest.mark.parametrize("seed", range(40))
def test_the_proposals_are_those_of_pelt_for_each_coefficient(seed: int) -> None:
    logs = uneven(seed)
    noise = max(LEAST, float(np.std(np.diff(logs))) / 2**0.5)
    cuts = {_best_single(logs)}
    for f in (0.0, 0.3, 0.6, 0.8):
        penalty = 4 * math.log(30) * noise**2 * (1 + f) / (1 - f) ** 2
        cuts.add(best_cuts(logs, penalty))
    joined = {_ends(_cut(logs, each)) for each in cuts}
    assert _proposals(logs) == joined - {()}


@pytest.mark.parametrize("logs", [*map(uneven, range(10)), *(-uneven(i) for i in range(5))])
def test_the_best_single_change_point_leaves_the_least_squares(logs: Array) -> None:
    def left(cut: int) -> float:
        return sum(float(((part - part.mean()) ** 2).sum()) for part in (logs[:cut], logs[cut:]))

    assert _best_single(logs) == (min(range(3, len(logs) - 2), key=left),)


@pytest.mark.parametrize("at", [2, 3, 10, 17, 18])
def test_a_single_change_point_leaves_three_slices_on_each_side(at: int) -> None:
    assert _best_single(steps((at, 0.0), (20 - at, 0.5))) == (min(17, max(3, at)),)


def test_a_level_has_a_column() -> None:
    assert _steps(5, (2,)).tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    assert _steps(4, (1, 3)).tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]


def test_levels_are_cut_where_they_differ_enough() -> None:
    logs = np.array([0.0, 0, 1, 1, 1.01, 1.01, 3, 3, 3, 1])
    cut = _cut(logs, (2, 4, 6, 9))
    assert lengths(cut) == [2, 4, 3, 1]
    assert means(cut) == pytest.approx([0.0, 1.005, 3.0, 1.0])
    assert _ends(cut) == (2, 6, 9)
    assert _cut(logs[:2], ()) == [_Level(2, 0.0)]
    assert _ends([_Level(2, 0.0)]) == ()


def test_levels_that_differ_by_exactly_the_least_change_stay_apart() -> None:
    assert lengths(_cut(np.array([0.0, 0.0, 0.03, 0.03]), (2,))) == [2, 2]
    assert lengths(_cut(np.array([0.0, 0.0, 0.0299, 0.0299]), (2,))) == [4]
