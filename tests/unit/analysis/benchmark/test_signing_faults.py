"""Loads with a signing node at fault: the effect is relative to a control that changes, too."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from factories.benchmarks import made_contents
from tlslab.analysis.benchmark.signing_faults import (
    Episode,
    episodes,
    fault_figures,
    fault_findings,
    fault_table,
)
from tlslab.domain.benchmark import Slice, Timeline
from tlslab.domain.finding import Values
from tlslab.domain.trial import Trial

AT, UNTIL, SECONDS = 4.0, 8.0, 12

TRIAL = next(trial for trial in made_contents().trials if trial.timeline is not None)


def load(
    fault: str,
    block: int,
    within: float,
    after: float = 100,
    failing: float = 0,
    policy: str = "none",
) -> Trial:
    """100 operations a second before a fault, `within` during the fault, `after` after it."""
    rates = [100 if s <= AT else within if s <= UNTIL else after for s in range(1, SECONDS + 1)]
    slices = tuple(
        Slice(
            at,
            1.0,
            round(rate),
            {"timeout": round(rate * failing)} if at > AT else {},
            1.0,
            2.0,
            3.0,
        )
        for at, rate in enumerate(rates, start=1)
    )
    timeline = Timeline("JDK 17", "sign", 4, fault, policy, slices, ())
    return replace(TRIAL, block=block, timeline=timeline)


def found(*trials: Trial) -> dict[str, Episode]:
    return {each.fault: each for each in episodes(trials, AT, UNTIL)}


def stated(fault: str, *trials: Trial) -> Values:
    """What is stated of a fault, from five times these blocks: fewer than five give nothing."""
    many = [replace(each, block=each.block + 2 * turn) for turn in range(5) for each in trials]
    return values_of(fault, many)


def values_of(fault: str, trials: Sequence[Trial]) -> Values:
    listed = {each.code: each.values for each in fault_findings(episodes(trials, AT, UNTIL))}
    return listed[f"fault_{fault}_none"]


CONTROLS = (load("none", 0, 150, 200), load("none", 1, 160, 200))


def test_fewer_than_five_loads_have_no_finding() -> None:
    two = (*CONTROLS, load("slow", 0, 75), load("slow", 1, 80))
    assert list(fault_findings(episodes(two, AT, UNTIL))) == []
    assert stated("slow", *two)["over_control"].value == pytest.approx(0.5)


def test_a_loss_is_relative_to_the_controls_change() -> None:
    slow = found(*CONTROLS, load("slow", 0, 75), load("slow", 1, 80))["slow"]
    assert slow.change is not None
    assert slow.change.value == pytest.approx(0.775, abs=0.001)
    assert slow.over_control is not None
    assert slow.over_control.value == pytest.approx(0.5)


def test_the_pairs_are_blocks_whatever_their_order() -> None:
    slow = found(load("slow", 1, 80), *CONTROLS, load("slow", 0, 75))["slow"]
    assert slow.over_control is not None
    assert (slow.over_control.low, slow.over_control.high) == pytest.approx((0.5, 0.5))


def test_a_killed_node_and_its_control_are_compared_in_the_same_seconds() -> None:
    """A killed node stays away: for it, the control, too, counts to the end."""
    killed = found(*CONTROLS, load("killed", 0, 75, 100), load("killed", 1, 80, 100))["killed"]
    assert killed.over_control is not None
    assert killed.over_control.value == pytest.approx(0.5)


def test_a_rate_that_stays_while_the_control_rises_is_no_gain() -> None:
    """The rate is unchanged, and still lower than it would be without the fault."""
    values = stated("killed", *CONTROLS, load("killed", 0, 100), load("killed", 1, 107, 98))
    assert values["over_control"].value == pytest.approx(0.58, abs=0.03)
    assert values["changed"]


def test_a_fault_whose_interval_has_1_leaves_open_whether_it_did_anything() -> None:
    assert not stated("slow", *CONTROLS, load("slow", 0, 90), load("slow", 1, 210))["changed"]


def test_without_a_control_nothing_is_said_of_the_faults_part() -> None:
    lonely = (load("slow", 0, 50), load("slow", 1, 50))
    assert stated("slow", *lonely)["over_control"] is None
    other_policy = load("none", 0, 150, policy="eject"), load("none", 1, 150, policy="eject")
    assert stated("slow", *lonely, *other_policy)["over_control"] is None


def test_a_control_of_another_block_is_none() -> None:
    slow = found(load("none", 3, 150), load("slow", 0, 50), load("slow", 1, 50))["slow"]
    assert slow.over_control is None


def test_the_control_is_reported_and_drawn() -> None:
    episodes_found = episodes([*CONTROLS, load("slow", 0, 50)], AT, UNTIL)
    assert stated("none", *CONTROLS)["change"].value == pytest.approx(1.55, abs=0.01)
    table = fault_table(episodes_found)
    assert table is not None
    assert [row[0] for row in table.rows] == ["none (control)", "slow"]
    assert table.rows[0][table.columns.index("over the control")] is None
    assert [figure.id for figure in fault_figures(episodes_found)] == [
        "fault-none-none",
        "fault-slow-none",
    ]


def test_the_interval_of_a_failed_share_stays_between_0_and_1() -> None:
    """0.38 and 0.46 on two runs: Student's t on their logarithms would reach beyond 1."""
    frozen = found(load("frozen", 0, 100, failing=0.6), load("frozen", 1, 100, failing=0.85))
    share = frozen["frozen"].failed_share
    assert share is not None
    assert share.low is not None
    assert share.high is not None
    assert 0 < share.low < 0.375 < share.value < 0.46 < share.high < 1
    values = stated("frozen", *CONTROLS, load("frozen", 0, 100, failing=0.6))
    assert values["failed"].value == pytest.approx(0.375)


def in_blocks(fault: str, rates: tuple[int, ...]) -> list[Trial]:
    """A load with this rate during and after the fault, in each block."""
    return [load(fault, block, within, within) for block, within in enumerate(rates)]


def test_faults_are_judged_together() -> None:
    """Alone, a fault of 4 % is established (p = 0.024); beside two without an effect it is not."""
    control = in_blocks("none", (150, 150, 150, 150, 150))
    slow = in_blocks("slow", (141, 147, 144, 148, 139))
    others = [
        *in_blocks("frozen", (150, 151, 149, 150, 151)),
        *in_blocks("killed", (151, 149, 150, 151, 149)),
    ]

    alone = values_of("slow", [*control, *slow])
    assert alone["over_control"].value == pytest.approx(0.958, abs=0.001)
    assert (alone["changed"], alone["family"]) == (True, 1)
    together = values_of("slow", [*control, *slow, *others])
    assert (together["changed"], together["family"]) == (False, 3)
