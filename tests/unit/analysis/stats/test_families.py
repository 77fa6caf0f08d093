"""P-values adjusted for a family of tests."""

import numpy as np
import pytest
import scipy

from tlslab.analysis.stats.families import LEVEL, false_discovery, holm


def test_holms_own_steps() -> None:
    # Smallest times 4, next times 3, ..., and never less than one before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_steps_of_benjamini_and_hochberg() -> None:
    # The fifteen p-values of their paper, section 3.2: four are discoveries, by Holm three.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459,
         0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]  # fmt: skip
    assert sum(each <= LEVEL for each in false_discovery(p)) == 4
    assert sum(each <= LEVEL for each in holm(p)) == 3
    assert false_discovery([]) == []


def test_the_false_discovery_rate_is_that_of_scipy() -> None:
    draw = np.random.default_rng(4)
    for n in (1, 2, 30):
        # Rounded: some are equal.
        p = np.round(draw.uniform(size=n) ** 3, 2).tolist()
        expected = scipy.stats.false_discovery_control(p, method="bh")
        assert false_discovery(p) == expected.tolist()


def test_among_equals_a_family_finds_one_false_difference_in_twenty_at_most() -> None:
    draw = np.random.default_rng(3)
    families = [draw.uniform(size=15) for _ in range(2000)]
    one = sum(min(p) <= LEVEL for p in families) / 2000
    adjusted = sum(min(holm(list(p))) <= LEVEL for p in families) / 2000
    assert one > 0.5
    assert 0.03 < adjusted < 0.07
