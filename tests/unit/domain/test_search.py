"""The search for the maximum, on servers with a known maximum."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories.noise import Tails, ar1
from tlslab.domain.capacity import SearchRules
from tlslab.domain.search import (
    ConcurrencyLevel,
    Converged,
    Inconclusive,
    Next,
    SearchState,
    pooled,
    relative_noise,
    search_state,
)
from tlslab.domain.workload import Window

RULES = SearchRules(4, 512, Window(100, 500))


def searched(
    curve: dict[str, float] | None = None,
    *,
    busy: float = 0.5,
    fails_from: int = 10**9,
    noise: float = 0.003,
    rules: SearchRules = RULES,
) -> tuple[SearchState, list[int]]:
    """How a search on a universal scalability law ends, and the numbers of connections it tried."""
    law = {"alone": 900.0, "contention": 0.2, "coherency": 0.0005} | (curve or {})
    levels: list[ConcurrencyLevel] = []
    for _ in range(200):
        state = search_state(levels, rules)
        if not isinstance(state, Next):
            return state, [level.connections for level in levels]
        n = state.connections
        drag = law["contention"] * (n - 1) + law["coherency"] * n * (n - 1)
        errors = 0.3 if n >= fails_from else 0.0
        levels.append(ConcurrencyLevel(n, law["alone"] * n / (1 + drag), noise, errors, busy))
    raise AssertionError("the search does not end")


def test_it_finds_the_peak_of_a_scalability_law() -> None:
    state, tried = searched()
    assert isinstance(state, Converged)
    peak = math.sqrt((1 - 0.2) / 0.0005)
    best = max(900 * n / (1 + 0.2 * (n - 1) + 0.0005 * n * (n - 1)) for n in range(1, 512))
    assert peak / 2 < state.peak.connections < peak * 2
    assert state.peak.rate > 0.98 * best
    assert len(tried) <= 12


def test_of_a_plateau_it_takes_the_fewest_connections() -> None:
    state, tried = searched({"contention": 1.0, "coherency": 0.0, "alone": 3500.0})
    assert isinstance(state, Converged)
    assert state.peak.connections == 4
    assert tried == [4, 8, 16]


def test_a_busy_generator_makes_it_inconclusive_at_once() -> None:
    state, tried = searched(busy=0.97)
    assert isinstance(state, Inconclusive)
    assert state.reason == "generator_bound"
    assert state.peak is not None
    assert tried == [4]


def test_a_rate_that_still_rises_at_the_limit() -> None:
    state, _ = searched({"contention": 0.0, "coherency": 0.0})
    assert isinstance(state, Inconclusive)
    assert state.reason == "still_rising"
    assert state.peak is not None
    assert state.peak.connections == 512


def test_errors_that_rise_before_the_rate_has_stopped() -> None:
    state, tried = searched({"contention": 0.0, "coherency": 0.0}, fails_from=50)
    assert isinstance(state, Inconclusive)
    assert state.reason == "errors_rise"
    assert state.peak is not None
    assert 32 <= state.peak.connections < 50
    assert max(tried) == 64


def test_errors_beyond_a_plateau_do_not_make_it_inconclusive() -> None:
    state, _ = searched({"contention": 1.0, "coherency": 0.0}, fails_from=8)
    assert not isinstance(state, Converged) or state.peak.connections < 8
    state, _ = searched({"contention": 1.0, "coherency": 0.0}, fails_from=40)
    assert isinstance(state, Converged)


def test_a_server_that_always_fails() -> None:
    state, tried = searched(fails_from=1)
    assert state == Inconclusive("errors_rise", "30 % of single connections failed", None)
    assert tried == [4, 1]
    levels = [ConcurrencyLevel(4, 0.0, 1.0, 1.0), ConcurrencyLevel(1, 0.0, 1.0, 1.0)]
    dead = search_state(levels, RULES)
    assert isinstance(dead, Inconclusive)
    assert dead.reason == "nothing_completed"


def test_noise_larger_than_the_step() -> None:
    state, tried = searched({"contention": 1.0, "coherency": 0.0}, noise=0.2)
    assert isinstance(state, Inconclusive)
    assert state.reason == "noise"
    assert state.peak is not None
    assert state.peak.runs == RULES.repeats
    assert tried.count(state.peak.connections) == RULES.repeats


@settings(max_examples=200)
@given(
    st.integers(1, 64),
    st.integers(0, 9),
    st.floats(1.2, 8.0),
    st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 0.5), st.floats(0, 1)), min_size=1),
)
def test_it_always_ends_within_its_limits(
    first: int, doublings: int, growth: float, answers: list[tuple[float, float, float]]
) -> None:
    rules = SearchRules(first, first * 2**doublings, Window(0, 100), growth)
    levels: list[ConcurrencyLevel] = []
    for turn in range(300):
        state = search_state(levels, rules)
        if not isinstance(state, Next):
            break
        assert 1 <= state.connections <= rules.most
        rate, noise, errors = answers[turn % len(answers)]
        levels.append(ConcurrencyLevel(state.connections, rate, noise, errors, errors))
    else:
        raise AssertionError("it does not end")
    if not isinstance(state, Next) and state.peak is not None:
        assert state.peak.connections in [level.connections for level in levels]


def test_runs_at_one_concurrency_are_pooled() -> None:
    (level,) = pooled([ConcurrencyLevel(8, 100.0, 0.1), ConcurrencyLevel(8, 110.0, 0.1)])
    assert level.rate == 105
    assert level.runs == 2
    assert level.noise == pytest.approx(0.1 / math.sqrt(2))


def test_noise_of_slices() -> None:
    assert relative_noise([100, 100, 100, 100], 400) == 0.002
    assert relative_noise([100], 100) == 0.1
    # At least that of independent slices, and little more if there are many.
    few = [90.0, 110, 90, 110]
    assert relative_noise(few, 400) > 0.1155 / 2
    many = list(100 * (1 + ar1(np.random.default_rng(1), 500, 0.0, 0.1)))
    assert relative_noise(many, 50_000) == pytest.approx(0.1 / math.sqrt(500), rel=0.2)


@pytest.mark.parametrize("tails", ["normal", "t3"])
@pytest.mark.parametrize("coefficient", [0.0, 0.3, 0.5, 0.8])
def test_noise_of_slices_that_resemble_their_neighbours(coefficient: float, tails: Tails) -> None:
    """The true rate nearly always lies within two standard errors; as independent slices: 46 %."""
    times, held = 400, 0
    for seed in range(times):
        rates = 100 * (1 + ar1(np.random.default_rng(seed), 20, coefficient, 0.03, tails))
        held += abs(rates.mean() / 100 - 1) <= 2 * relative_noise(list(rates), 2000)
    assert held >= 0.92 * times


@pytest.mark.parametrize("drift", [-0.06, 0.06])
@pytest.mark.parametrize("tails", ["normal", "t3"])
def test_noise_of_slices_that_drift(drift: float, tails: Tails) -> None:
    """The mean rate of a run that drifts by two standard deviations, from its first slice on."""
    times, held = 400, 0
    for seed in range(times):
        noise = ar1(np.random.default_rng(seed), 20, 0.3, 0.03, tails)
        rates = 100 * (1 + noise + np.linspace(-drift / 2, drift / 2, 20))
        held += abs(rates.mean() / 100 - 1) <= 2 * relative_noise(list(rates), 2000)
    assert held >= 0.92 * times
