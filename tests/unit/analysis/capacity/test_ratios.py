"""Ratios of maxima: judged as one family, and not reported for rates other than the servers'."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from factories.capacity import (
    CapacityWorld,
    drive,
    made_capacity_run,
    made_cell,
    made_plan,
)
from factories.capacity_summary import findings as findings_of
from factories.capacity_summary import highest, stated
from tlslab.analysis.capacity import summarise
from tlslab.analysis.capacity.capacity_cell import CapacityCell, measure
from tlslab.analysis.capacity.findings import answer, findings
from tlslab.analysis.capacity.remedies import Remedy
from tlslab.contract.record import CpuTime, Interval
from tlslab.domain.capacity import Step
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Summary, Values
from tlslab.domain.trial import TrialRun

RATE = "connections_per_s"
FIVE = made_plan(repetitions=5)
CONTENTS = made_capacity_run(plan=FIVE)

# Rates of five repetitions: 4 % below the base (alone p = 0.024), and two that are not below it.
BASE = (100.0, 100.0, 100.0, 100.0, 100.0)
LESS = (94.0, 98.0, 96.0, 98.67, 92.67)
EQUAL = (100.0, 100.67, 99.33, 100.0, 100.67), (100.67, 99.33, 100.0, 100.67, 99.33)


def made(*rates: Sequence[float], alone: Sequence[float] = ()) -> list[CapacityCell]:
    """A cell for each level of a factor, whose maxima have these rates in their repetitions.

    `alone` orders the cells: the rate of each with one connection at a time.
    """
    found = []
    for number, values in enumerate(rates):
        world = CapacityWorld(alone=alone[number] if alone else 500.0, seed=number + 1)
        cell = made_cell(server="tomcat", jdk=f"jdk-{number}")
        whole = measure(cell, drive(FIVE, world, cell), FIVE, CONTENTS.environment)
        found.append(replace(whole, values={**whole.values, RATE: dict(enumerate(values))}))
    return found


def variants(cells: Sequence[CapacityCell]) -> list[Values]:
    return [each.values for each in findings(cells, FIVE, {}) if each.code == "variants"]


def verdicts(values: Sequence[Values]) -> list[tuple[bool, int]]:
    """Whether a difference is established, and among how many ratios."""
    return [(each["established"], each["family"]) for each in values]


def test_a_ratio_that_is_established_alone_is_not_among_three() -> None:
    (alone,) = variants(made(BASE, LESS))
    ratio = alone["ratio"]
    ends = (ratio.value, ratio.low, ratio.high)
    assert ends == pytest.approx((0.958, 0.927, 0.991), abs=0.0005)
    assert verdicts([alone]) == [(True, 1)]
    assert verdicts(variants(made(BASE, LESS, *EQUAL))) == [(False, 3)] * 3


def test_ratios_are_established_together() -> None:
    half, third = ([x / n for x in LESS] for n in (2, 3))
    assert verdicts(variants(made(BASE, half, third))) == [(True, 2)] * 2


def test_an_interval_with_1_alone_establishes_nothing() -> None:
    assert verdicts(variants(made(BASE, EQUAL[0]))) == [(False, 1)]


def test_scaling_and_platforms_are_of_the_same_family() -> None:
    worlds = {
        "nginx 1": CapacityWorld(seed=1),
        "nginx 2": CapacityWorld(alone=1700.0, seed=2),
        "apache 1": CapacityWorld(alone=700.0, seed=3),
    }
    summary = summarise(made_capacity_run(worlds, FIVE))
    both = [*stated(summary, "scaling"), *stated(summary, "platforms")]
    assert verdicts(both) == [(True, 2)] * 2


def test_the_rival_in_the_answer_is_one_of_all_pairs() -> None:
    def first(cells: Sequence[CapacityCell]) -> tuple[Values, int]:
        given = answer(CONTENTS, cells, FIVE, ())
        assert given.certainty is not None
        return given.statements[0].values["rival"], given.certainty.values["pairs"]

    alone = (900.0, 850.0, 700.0, 600.0)
    rival, pairs = first(made(BASE, LESS, alone=alone))
    assert rival["ratio"].value == pytest.approx(1.043, abs=0.0005)
    assert (rival["established"], pairs) == (True, 1)
    rival, pairs = first(made(BASE, LESS, *EQUAL, alone=alone))
    assert (rival["established"], pairs) == (False, 6)


def test_a_bound_establishes_only_what_lies_on_its_side() -> None:
    """The ratio to a maximum that may be higher is an upper bound."""
    low, high = made(BASE, [2 * x for x in LESS])
    assert verdicts(variants([low, high])) == [(True, 1)]
    (ratio,) = variants([replace(low, open=("search_errors_rise",)), high])
    assert (ratio["bound"], ratio["established"]) == ("at most", False)


def made_remedy(name: str, ratio: Estimate, p: float, bound: bool = False) -> Remedy:
    rate = Estimate(100.0, 99.0, 101.0, 5, "1/s", "")
    return Remedy(name, rate, rate, None, ratio, p, bound, base="without")


def test_remedies_are_judged_together() -> None:
    small = made_remedy("psk", Estimate(1.1, 1.02, 1.2, 5, "", ""), 0.03)
    large = made_remedy("more", Estimate(3.0, 2.9, 3.1, 5, "", ""), 1e-6)
    none = made_remedy("other", Estimate(1.0, 0.9, 1.1, 5, "", ""), 0.9)

    def established(*remedies: Remedy) -> list[bool]:
        cells = [replace(cell, remedies=remedies) for cell in made(BASE)]
        (found,) = (e for e in findings(cells, FIVE, {}) if e.code == "remedies")
        assert found.values["family"] == len(remedies)
        return [each["established"] for each in found.values["remedies"]]

    assert established(small) == [True]
    assert established(small, large, none) == [False, True, False]


class Falling(CapacityWorld):
    """The rate falls within each measurement of the maximum."""

    falls = False

    def _run(self, step: Step) -> TrialRun:
        self.falls = step.stage == "maximum"
        return super()._run(step)

    def _slice(self, rate: float, at: int) -> Interval:
        if not self.falls:
            return super()._slice(rate, at)
        return Interval(at / 10, 0.1, round(rate / 10 * (1 - 0.05 * at)), 0, CpuTime(1000, 1000))


def two(nginx: CapacityWorld) -> Summary:
    worlds = {"nginx": nginx, "apache": CapacityWorld(700.0, seed=3)}
    return summarise(made_capacity_run(worlds, FIVE))


def test_a_maximum_that_was_not_steady_says_so() -> None:
    summary = two(Falling(1100.0))
    assert stated(summary, "answer")[0]["open"] == [("unsteady",), ()]
    first = highest(summary)
    assert (first["open"], first["steady"], first["rival"]) == (True, False, None)
    assert not stated(summary, "platforms")[0]["steady"]
    nginx = summary.cell("server=nginx,processors=1")
    assert (nginx.left_open[RATE], nginx.lower_bounds) == ("the rate was not steady", ())
    steady = two(CapacityWorld(1100.0))
    assert (highest(steady)["steady"], findings_of(steady, "open")) == (True, [])
