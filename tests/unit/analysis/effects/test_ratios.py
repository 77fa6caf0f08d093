"""Effects of factors in made-up runs whose effects are known."""

import math
from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest

from tlslab.analysis.effects.ratios import Change, Effect, MeasureValues, at_levels, effects

VARIED = {"tls": ("1.2", "1.3"), "key": ("rsa-2048", "ecdsa-p256")}
TLS, KEY = Change("tls", "1.3", "1.2"), Change("key", "ecdsa-p256", "rsa-2048")

# The logarithm of each change, and of both together besides.
WORLD = {"tls": math.log(1.2), "key": math.log(0.5), "both": math.log(1.3)}


def measured(
    world: Mapping[str, float],
    noise: float = 0.0,
    seed: int = 1,
    blocks: int = 10,
    varied: Mapping[str, tuple[str, ...]] = VARIED,
) -> MeasureValues:
    """Costs of all combinations; a block is slow or fast as a whole."""
    draw = np.random.default_rng(seed)
    of_block = draw.normal(0, 0.2, blocks)
    values = {}
    for levels in product(*varied.values()):
        combination = dict(zip(varied, levels, strict=True))
        changed = [name for name, level in combination.items() if level != varied[name][0]]
        log = sum(world.get(name, 0.0) for name in changed)
        log += world.get("both", 0.0) if {"tls", "key"} <= set(changed) else 0.0
        values[frozenset(combination.items())] = {
            block: 1000 * math.exp(log + of_block[block] + draw.normal(0, noise))
            for block in range(blocks)
        }
    return MeasureValues("new", "server_cpu_us_per_connection", values)


def by_changes(found: list[Effect]) -> dict[tuple[Change, ...], Effect]:
    return {each.changes: each for each in found}


def test_an_effect_is_the_mean_over_the_levels_of_the_other_factors() -> None:
    found = by_changes(effects(VARIED, [measured(WORLD)]))
    assert set(found) == {(TLS,), (KEY,), (TLS, KEY)}
    # Half of the combinations have the interaction.
    assert found[TLS,].ratio.value == pytest.approx(1.2 * math.sqrt(1.3))
    assert found[KEY,].ratio.value == pytest.approx(0.5 * math.sqrt(1.3))
    assert found[TLS, KEY].ratio.value == pytest.approx(1.3)
    assert all(each.established for each in found.values())


def test_at_each_level_of_another_factor_it_is_that_levels_own() -> None:
    at = list(at_levels(VARIED, measured(WORLD), TLS, "key"))
    assert [(dict(each.at), round(each.ratio.value, 6)) for each in at] == [
        ({"key": "rsa-2048"}, 1.2),
        ({"key": "ecdsa-p256"}, 1.56),
    ]


def test_combinations_without_a_value_leave_their_contrasts_out() -> None:
    whole = measured(WORLD)
    gone = frozenset({"tls": "1.3", "key": "ecdsa-p256"}.items())
    values = {key: each for key, each in whole.values.items() if key != gone}
    found = by_changes(effects(VARIED, [MeasureValues(whole.measure, whole.estimate, values)]))
    assert set(found) == {(TLS,), (KEY,)}
    assert found[TLS,].ratio.value == pytest.approx(1.2)
    assert found[KEY,].ratio.value == pytest.approx(0.5)


def test_only_blocks_with_all_cells_of_an_effect_count() -> None:
    whole = measured(WORLD, noise=0.01)
    first = frozenset({"tls": "1.2", "key": "rsa-2048"}.items())
    values = {key: dict(each) for key, each in whole.values.items()}
    del values[first][3]
    found = effects(VARIED, [MeasureValues(whole.measure, whole.estimate, values)])
    assert {len(each.logs) for each in found} == {9}


def test_fewer_than_five_blocks_establish_nothing() -> None:
    few = effects(VARIED, [measured(WORLD, noise=0.001, blocks=4)])
    assert not any(each.established or each.equal for each in few)


def test_several_levels_are_each_compared_with_the_first() -> None:
    varied = {"group": ("X25519", "P-256", "P-384")}
    found = effects(varied, [measured({"group": math.log(2)}, varied=varied)])
    assert [each.changes[0].level for each in found] == ["P-256", "P-384"]
    assert [round(each.ratio.value, 6) for each in found] == [2, 2]


@pytest.mark.simulation
def test_among_equal_combinations_one_run_of_twenty_has_a_false_effect_at_most() -> None:
    runs = [effects(VARIED, [measured({}, 0.02, seed)]) for seed in range(1000)]
    false = sum(any(each.established for each in run) for run in runs)
    # 5 % of 1,000 with three standard errors.
    assert false <= 50 + 3 * math.sqrt(1000 * 0.05 * 0.95)


@pytest.mark.simulation
def test_the_interval_of_an_effect_has_its_true_value_in_95_per_cent() -> None:
    true = {(TLS,): 1.2 * math.sqrt(1.3), (KEY,): 0.5 * math.sqrt(1.3), (TLS, KEY): 1.3}
    within = dict.fromkeys(true, 0)
    for seed in range(1000):
        for each in effects(VARIED, [measured(WORLD, 0.02, seed)]):
            ratio = each.ratio
            assert ratio.low is not None
            assert ratio.high is not None
            within[each.changes] += ratio.low <= true[each.changes] <= ratio.high
    assert all(count >= 935 for count in within.values()), within
