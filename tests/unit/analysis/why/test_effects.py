"""Effects beside samples: that both agree must be established; noise alone never does it."""

from dataclasses import replace

import pytest

from tlslab.analysis.why.cost_bars import open_words, tables, verdict
from tlslab.analysis.why.effects import AGREE, effect_checks
from tlslab.analysis.why.rules import load_rules
from tlslab.domain.estimate import Estimate
from tlslab.domain.stacks import CellWhy, CostPart, EffectCheck

BASELINE = {"group": "X25519"}
TCP = "kernel: TCP and sockets"


def cell(group: str, cost: float, derive: float, error: float, samples: int = 3_000) -> CellWhy:
    """A cell whose key exchange takes `derive` of its cost in microseconds, by ten blocks."""
    whole = Estimate(cost, cost * (1 - error), cost * (1 + error), 10, "us", "made up")
    count = round(samples * derive / cost)
    counts = {"key exchange": count, TCP: samples - count}
    parts = tuple(CostPart(n, k, whole) for n, k in counts.items())
    return CellWhy(f"group={group}", {"group": group}, whole, samples, parts)


def checked(*others: CellWhy, error: float = 0.005) -> tuple[EffectCheck, ...]:
    return effect_checks([cell("X25519", 400, 50, error), *others], BASELINE, None)


def test_noise_never_agrees() -> None:
    # Effect 100 (-77 to 297) us: nothing is known, so the two are not said to agree.
    (found,) = checked(cell("P-384", 500, 150, 0.25), error=0.25)
    assert found.effect.low is not None
    assert found.effect.low < 0 < found.effect.value
    assert found.verdict == "cannot_tell"
    assert verdict(found) == "cannot tell: the effect may be nothing"


@pytest.mark.parametrize(
    ("error", "expected"),
    [(0.005, "agree"), (0.05, "agree"), (0.3, "cannot_tell"), (0.6, "cannot_tell")],
)
def test_more_noise_never_agrees_more(error: float, expected: str) -> None:
    (found,) = checked(cell("P-384", 700, 350, error), error=error)
    assert found.margin == AGREE * found.effect.value
    assert found.elsewhere.high is not None
    assert (found.elsewhere.high <= found.margin) == (expected == "agree")
    assert found.verdict == expected


def test_a_large_possible_part_elsewhere_is_in_the_verdict() -> None:
    (found,) = checked(cell("P-384", 700, 350, 0.3), error=0.3)
    assert verdict(found).startswith("cannot tell: up to ")
    assert verdict(found).endswith(" % of the effect may be elsewhere")


@pytest.mark.parametrize(("share", "said"), [(0.384, "up to 39 %"), (1.7, "all")])
def test_the_share_that_may_be_elsewhere_is_never_said_to_be_less(share: float, said: str) -> None:
    (found,) = checked(cell("P-384", 700, 350, 0.3), error=0.3)
    rest = replace(found.elsewhere, low=0.0, high=share * found.effect.value)
    assert open_words(replace(found, elsewhere=rest)) == f"{said} of the effect may be elsewhere"


def test_all_checks_are_one_family() -> None:
    close = cell("P-384", 700, 330, 0.01)
    (alone,) = checked(close, error=0.01)
    rest = [cell(f"group {number}", 700, 350, 0.01) for number in range(9)]
    among = checked(close, *rest, error=0.01)
    assert {each.family for each in among} == {10}
    assert alone.elsewhere.low is not None
    assert among[0].elsewhere.low is not None
    assert among[0].elsewhere.low < alone.elsewhere.low
    assert among[0].elsewhere.value == alone.elsewhere.value
    (table,) = list(tables([], among, load_rules()))
    assert "10 comparisons together" in table.caption
