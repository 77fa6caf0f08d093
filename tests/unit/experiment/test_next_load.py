"""The search for the highest load that meets an objective."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlslab.domain.capacity import CONFIRMING, Objective
from tlslab.domain.loads import STEP, Bracket, Load, bracket
from tlslab.domain.workload import Window
from tlslab.experiment.next_load import FIRST, FRACTIONS, next_fraction, run_window

P99 = Objective("p99", 50.0)
WINDOW = Window(300, 3000)


def test_a_run_is_as_long_as_the_objective_and_the_rate_ask_for() -> None:
    assert run_window(P99, 3000, WINDOW) == Window(500, 3000)
    assert run_window(Objective("p99", 1000.0), 3000, WINDOW).measure_ms == 10_000
    assert run_window(Objective("p99", 5000.0), 3000, WINDOW).measure_ms == 50_000
    # 8,000 values at 500/s.
    assert run_window(P99, 500, WINDOW).measure_ms == 16_000
    assert run_window(P99, 1, WINDOW).measure_ms == 20_000
    assert run_window(Objective("mean", 50.0), 100, WINDOW).measure_ms == 3_000


def load(fraction: float, outcome: str, runs: int = 1) -> Load:
    return Load(fraction, 1000 * fraction, runs, 1.0, outcome)  # type: ignore[arg-type]


def searched(limit: float, left: int = 12, *before: Load) -> tuple[list[Load], int]:
    """The loads of a search on a server that meets the objective up to this fraction."""
    found = {each.fraction: each for each in before}
    made = 0
    while (fraction := next_fraction(list(found.values()), left - made)) is not None:
        made += 1
        runs = found[fraction].runs + 1 if fraction in found else 1
        found[fraction] = load(fraction, "met" if fraction <= limit else "missed", runs)
    return list(found.values()), made


@pytest.mark.parametrize("limit", [0.06, 0.3, 0.62, 0.8, 0.9, 0.95, 1.0, 1.04, 1.2])
def test_a_search_ends_within_a_step_and_has_confirmed_it(limit: float) -> None:
    loads, made = searched(limit, 20)
    found = bracket(loads)
    assert found.best is not None
    assert found.own is not None
    assert found.missed is not None
    assert found.best.fraction <= limit < found.missed.fraction
    assert found.missed.fraction == pytest.approx(found.best.fraction * STEP, rel=0.02)
    assert found.best.fraction == pytest.approx(found.own.fraction * STEP, rel=0.02)
    assert found.best.runs == CONFIRMING
    assert made <= 13


def test_near_the_maximum_few_runs_are_enough() -> None:
    assert max(searched(limit, 20)[1] for limit in (0.83, 0.88, 0.93, 0.97)) <= 6


def test_known_loads_enclose_the_search() -> None:
    found, made = searched(0.7, 20, load(0.6, "met", 5), load(0.8, "missed", 5))
    assert made <= 6
    assert all(0.6 <= each.fraction <= 0.8 for each in found)


def test_the_last_runs_confirm_a_wide_answer() -> None:
    loads, made = searched(0.3, 7)
    found = bracket(loads)
    assert made == 7
    assert found.best is not None
    assert found.missed is not None
    assert found.own is not None
    assert found.best.runs == CONFIRMING
    assert found.missed.fraction > 1.2 * found.best.fraction


def test_a_load_that_misses_when_it_is_confirmed_is_given_up() -> None:
    loads = [load(0.907, "missed", 2), load(0.952, "missed"), load(0.823, "met")]
    assert next_fraction(loads, 5) == 0.864
    assert next_fraction([*loads, load(0.864, "missed")], 4) == 0.823
    assert next_fraction([*loads[:2], load(0.864, "missed"), load(0.823, "met", 2)], 3) == 0.784


def test_a_late_generator_ends_the_search_upwards_and_is_no_miss() -> None:
    loads = [load(0.864, "met"), load(FIRST, "met", 2), load(0.952, "late")]
    assert next_fraction(loads, 5) is None
    assert bracket(loads) == Bracket(loads[1], loads[0], None)


def test_a_load_above_a_late_one_is_no_answer() -> None:
    loads = [load(0.4, "met"), load(0.6, "late"), load(0.8, "met", 2), load(0.9, "missed")]
    assert bracket(loads) == Bracket(loads[0], None, loads[3])
    # The search goes on below the late load, too.
    fraction = next_fraction(loads, 9)
    assert fraction is not None
    assert 0.4 < fraction < 0.6


def test_short_runs_are_no_reason_to_stop() -> None:
    assert next_fraction([load(0.2, "short"), load(1.0, "short")], 9) == FIRST
    assert next_fraction([load(0.2, "met"), load(0.4, "met")], 9) == FIRST


def test_a_load_above_one_that_missed_is_no_answer() -> None:
    loads = [load(0.4, "met", 5), load(0.6, "missed", 5), load(0.8, "met", 5)]
    assert bracket(loads) == Bracket(loads[0], None, loads[1])


OUTCOMES = st.sampled_from(["met", "missed", "late", "short"])


@given(st.dictionaries(st.sampled_from(FRACTIONS), OUTCOMES, max_size=8), st.integers(1, 9))
def test_no_answer_is_above_a_load_that_missed_or_was_late(
    tried: dict[float, str], left: int
) -> None:
    loads = [load(fraction, outcome) for fraction, outcome in tried.items()]
    found = bracket(loads)
    barred = [each.offered for each in loads if each.outcome in ("missed", "late")]
    missed = min(barred, default=np.inf)
    assert found.best is None or found.best.offered < missed
    assert found.own is None or found.own.offered < missed / STEP
    fraction = next_fraction(loads, left)
    assert fraction is None or 1000 * fraction < missed


def test_the_loads_are_a_step_apart() -> None:
    ratios = [high / low for high, low in pairwise(FRACTIONS)]
    assert all(ratio == pytest.approx(STEP, rel=0.02) for ratio in ratios)
    assert len(set(FRACTIONS)) == len(FRACTIONS)
