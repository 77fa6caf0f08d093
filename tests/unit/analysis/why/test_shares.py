"""From samples to parts of a cost: parts add up, intervals cover, nothing is hidden."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.stacks import DERIVE, NOBODYS, SIGN, TCP, made_stacks
from tlslab.analysis.why.rules import NOT_ATTRIBUTED, load_rules
from tlslab.analysis.why.shares import KERNEL_WHOLE, OTHER, cell_why, share_of
from tlslab.domain.estimate import Estimate
from tlslab.domain.stacks import CellWhy

COST = "server_cpu_us_per_connection"


def cost(value: float = 500.0, error: float | None = 0.02) -> Estimate:
    ends = (None, None) if error is None else (value * (1 - error), value * (1 + error))
    return Estimate(value, ends[0], ends[1], 10, "us", "made up")


def why(counts: dict[str, int], **estimates: Estimate) -> CellWhy:
    kernel = f"{COST}_user" not in estimates
    found = cell_why(made_stacks(counts, kernel=kernel), {COST: cost(), **estimates}, load_rules())
    assert found is not None
    return found


@given(
    st.fixed_dictionaries({
        stack: st.integers(0, 3000) for stack in (DERIVE, SIGN, TCP, NOBODYS)
    }).filter(lambda counts: any(counts.values())),
    st.floats(1, 1e6),
)  # fmt: skip
def test_parts_add_up_to_the_measured_cost(counts: dict[str, int], value: float) -> None:
    found = cell_why(made_stacks(counts), {COST: cost(value)}, load_rules())
    assert found is not None
    assert sum(part.estimate.value for part in found.parts) == pytest.approx(value)
    assert sum(part.samples for part in found.parts) == sum(counts.values()) == found.samples
    for part in found.parts:
        assert part.estimate.low is not None
        assert part.estimate.high is not None
        assert 0 <= part.estimate.low <= part.estimate.value <= part.estimate.high


def test_small_parts_are_other_and_what_nobody_knows_is_not_hidden() -> None:
    found = why({DERIVE: 500, SIGN: 3, TCP: 4, NOBODYS: 1})
    names = {part.name: part.samples for part in found.parts}
    assert names == {"key exchange": 500, OTHER: 7, NOT_ATTRIBUTED: 1}
    assert found.parts[-1].name == NOT_ATTRIBUTED


def test_without_samples_of_the_kernel_its_cost_is_a_part_of_its_own() -> None:
    counts = {DERIVE: 300, SIGN: 100}
    halves = {f"{COST}_user": cost(390.0), f"{COST}_system": cost(100.0)}
    found = why(counts, **halves)
    values = {part.name: part.estimate.value for part in found.parts}
    assert sum(values.values()) == pytest.approx(500)
    assert values[KERNEL_WHOLE] == pytest.approx(500 * 100 / 490)
    assert values["key exchange"] == pytest.approx(3 * values["signature"])


def test_nothing_is_said_without_samples_or_without_a_cost() -> None:
    rules = load_rules()
    assert cell_why(made_stacks({}), {COST: cost()}, rules) is None
    assert cell_why(made_stacks({DERIVE: 9}), {}, rules) is None
    assert cell_why(made_stacks({DERIVE: 9}, kernel=False), {COST: cost()}, rules) is None


def test_an_interval_holds_the_error_of_the_cost_too() -> None:
    exact, loose = share_of(50, 100, cost(error=0.0)), share_of(50, 100, cost(error=0.2))
    assert exact.low is not None
    assert loose.low is not None
    assert loose.low < exact.low
    assert "measured cost has no interval" in share_of(50, 100, cost(error=None)).method


def test_intervals_cover_in_95_per_cent() -> None:
    rng = np.random.default_rng(5)
    n, share, true, runs = 1_500, 0.08, 500.0, 300
    held = 0
    for _ in range(runs):
        measured = true * (1 + rng.normal(0, 0.01))
        known = Estimate(measured, measured - 1.96 * 5, measured + 1.96 * 5, 10, "us", "")
        found = share_of(int(rng.binomial(n, share)), n, known)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= share * true <= found.high
    assert held / runs >= 0.93
