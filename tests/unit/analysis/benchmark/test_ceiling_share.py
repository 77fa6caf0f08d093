"""The share of the processors' limit: the fitted peak and the costs come from the same blocks."""

import pytest

from bench.coverage import run
from bench.coverage_rows import Row
from bench.coverage_series import ceiling_share


@pytest.mark.parametrize("together", [-1.0, 1.0], ids=["a slow block costs more", "both rise"])
def test_the_interval_holds_the_share_however_costs_follow_rates(together: float) -> None:
    """In 95 % of 150 runs, minus two standard errors of such a count."""
    row = Row("ceiling share", "simulated", ceiling_share(5, together))
    found = run(row, 150)
    assert (found.none, found.runs) == (0, 150)
    assert found.coverage >= 0.95 - 2 * (0.95 * 0.05 / 150) ** 0.5
