"""The share of returning clients up to which a candidate pays, and its interval."""

from typing import Any

import pytest

from factories.proof import made_sides
from tlslab.analysis.proof.findings import break_even
from tlslab.domain.estimate import Estimate


def share(**more: Any) -> Estimate | None:
    sides = made_sides(**more)
    return break_even(sides["new"], sides["returning"])


def test_the_share_is_where_both_cost_the_same_with_its_interval() -> None:
    found = share(new=(8000.0, 5000.0), returning=(1000.0, 2000.0))
    assert found is not None
    assert found.value == pytest.approx(0.75, abs=0.02)
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < 0.75 < found.high < 1


def test_it_is_left_out_where_the_blocks_do_not_carry_it() -> None:
    clear = {"new": (8000.0, 5000.0), "returning": (1000.0, 2000.0)}
    assert share(**clear, blocks=4) is None
    assert share(**clear, noise=0.8) is None
