"""Ratios of maxima: judged as one family, and not reported for rates other than the servers'."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from factories.capacity import (
    CapacityWorld,
    Uneven,
    drive,
    made_capacity_run,
    made_cell,
    made_plan,
)
from factories.worded import summarise
from tlslab.analysis.capacity.answer import answer
from tlslab.analysis.capacity.capacity_cell import CapacityCell, measure
from tlslab.analysis.capacity.findings import findings
from tlslab.analysis.capacity.ratios import Ratios
from tlslab.analysis.capacity.remedies import Remedy
from tlslab.analysis.gate import gate
from tlslab.analysis.overlay import Side, overlay
from tlslab.contract.record import CpuTime, Interval
from tlslab.domain.capacity import Step
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Summary
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


def variants(cells: Sequence[CapacityCell]) -> list[str]:
    return [each.text for each in findings(cells, FIVE, {}) if each.code == "variants"]


def test_a_ratio_that_is_established_alone_is_not_among_three() -> None:
    (alone,) = variants(made(BASE, LESS))
    ratio = "jdk-1 takes 0.958 (95 %: 0.927 to 0.991) times the connections/s of jdk-0"
    assert alone == f"{ratio}."
    first, *others = variants(made(BASE, LESS, *EQUAL))
    assert first == f"{ratio}; among all 3 ratios here (Holm) no difference is established."
    assert len(others) == 2
    assert all(each.endswith("(Holm) no difference is established.") for each in others)


def test_ratios_that_are_established_together_say_so() -> None:
    half, third = ([x / n for x in LESS] for n in (2, 3))
    for text in variants(made(BASE, half, third)):
        assert text.endswith("; among both ratios here (Holm) a difference is established.")


def test_an_interval_with_1_alone_establishes_nothing() -> None:
    (text,) = variants(made(BASE, EQUAL[0]))
    assert text.endswith("; no difference is established.")


def test_scaling_and_platforms_are_of_the_same_family() -> None:
    worlds = {
        "nginx 1": CapacityWorld(seed=1),
        "nginx 2": CapacityWorld(alone=1700.0, seed=2),
        "apache 1": CapacityWorld(alone=700.0, seed=3),
    }
    found = summarise(made_capacity_run(worlds, FIVE)).findings
    said = [each.text for each in found if each.code in ("scaling", "platforms")]
    assert len(said) == 2
    for text in said:
        assert text.endswith("; among both ratios here (Holm) a difference is established.")


def test_the_rival_in_the_answer_is_one_of_all_pairs() -> None:
    def first(cells: Sequence[CapacityCell]) -> str:
        return answer(CONTENTS, cells, FIVE, ()).sentences[0]

    alone = (900.0, 850.0, 700.0, 600.0)
    two_alone = first(made(BASE, LESS, alone=alone))
    assert ", 1.043 times (95 %: 1.009 to 1.079) that of jdk-1" in two_alone
    four = made(BASE, LESS, *EQUAL, alone=alone)
    assert "; no difference from jdk-1 is established" in first(four)
    confidence = answer(CONTENTS, four, FIVE, ()).confidence
    assert confidence.endswith("; 6 pairs of cells tested together")


def test_a_bound_establishes_only_what_lies_on_its_side() -> None:
    """The ratio to a maximum that may be higher is an upper bound."""
    low, high = made(BASE, [2 * x for x in LESS])
    assert Ratios.of([(high, low)]).verdict_words(high, low) == ""
    open_ = replace(low, open=("search_errors_rise",))
    assert Ratios.of([(high, open_)]).verdict_words(high, open_) == "; no difference is established"


def made_remedy(name: str, ratio: Estimate, p: float, bound: bool = False) -> Remedy:
    rate = Estimate(100.0, 99.0, 101.0, 5, "1/s", "")
    return Remedy(name, rate, rate, None, ratio, p, bound, base="without")


def test_remedies_are_judged_together(monkeypatch: pytest.MonkeyPatch) -> None:
    small = made_remedy("psk", Estimate(1.1, 1.02, 1.2, 5, "", ""), 0.03)
    large = made_remedy("more", Estimate(3.0, 2.9, 3.1, 5, "", ""), 1e-6)
    none = made_remedy("other", Estimate(1.0, 0.9, 1.1, 5, "", ""), 0.9)

    def said(*remedies: Remedy) -> str:
        monkeypatch.setattr("tlslab.analysis.capacity.findings.remedies", lambda cell: remedies)
        (text,) = (e.text for e in findings(made(BASE), FIVE, {}) if e.code == "remedies")
        return text

    assert said(small).endswith(": psk 1.10 (95 %: 1.020 to 1.20) times without.")
    text = said(small, large, none)
    words = "1.10 (95 %: 1.020 to 1.20) times without, no difference is established among all 3 re"
    assert f": psk {words}" in text
    assert "; more 3.00 (95 %: 2.90 to 3.10) times without; other" in text


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


class Disturbed(CapacityWorld):
    """Other programs take a third of the server's processor."""

    def _run(self, step: Step) -> TrialRun:
        run = super()._run(step)
        first, *others = run.machine.per_processor
        machine = replace(run.machine, per_processor=(replace(first, busy=0.95), *others))
        return replace(run, machine=machine)


def two(nginx: CapacityWorld) -> Summary:
    worlds = {"nginx": nginx, "apache": CapacityWorld(700.0, seed=3)}
    return summarise(made_capacity_run(worlds, FIVE))


def test_a_maximum_that_was_not_steady_says_so() -> None:
    summary = two(Falling(1100.0))
    (maxima,) = (each.text for each in summary.findings if each.code == "answer")
    assert re.search(r"nginx: [^;]* at once \(not steady\); apache: ", maxima)
    assert summary.answer is not None
    first = summary.answer.sentences[0]
    assert first.endswith(" new connections/s, a rate that was not steady.")
    (platforms,) = (each.text for each in summary.findings if each.code == "platforms")
    assert platforms.endswith(" on 1 processor is not known: a rate was not steady.")
    nginx = summary.cell("server=nginx,processors=1")
    assert (nginx.left_open[RATE], nginx.lower_bounds) == ("the rate was not steady", ())
    steady = two(CapacityWorld(1100.0))
    assert not any("steady" in each.text for each in steady.findings)


def test_a_rate_that_other_programs_disturbed_may_be_more() -> None:
    summary = two(Disturbed(1100.0, busy=0.6))
    nginx = summary.cell("server=nginx,processors=1")
    assert (nginx.verdict, RATE in nginx.lower_bounds) == ("valid", True)
    assert nginx.left_open[RATE] == "other programs took a part of the server's processor"
    (maxima,) = (each.text for each in summary.findings if each.code == "answer")
    assert " at once (disturbed); apache: " in maxima
    assert summary.answer is not None
    assert " new connections/s or more, at least 1." in summary.answer.sentences[0]
    (platforms,) = (each.text for each in summary.findings if each.code == "platforms")
    assert platforms.startswith("apache takes at most 0.")
    clean = two(CapacityWorld(1100.0, seed=5))
    found = gate(overlay(Side("A", clean), Side("B", summary)).comparisons, 0.5, [RATE])
    assert found.verdict == "cannot_tell"
    assert [each.verdict for each in found.undecided] == ["not_comparable"]


def test_what_may_take_more_is_a_lower_bound_for_every_later_comparison() -> None:
    summary = two(Uneven(1100.0, busy=0.5))
    nginx = summary.cell("server=nginx,processors=1")
    assert "search_noise" in {note.code for note in nginx.reasons}
    assert (nginx.verdict, RATE in nginx.lower_bounds) == ("valid", True)
    clean = two(CapacityWorld(1100.0, seed=5))
    found = gate(overlay(Side("A", clean), Side("B", summary)).comparisons, 0.5, [RATE])
    assert (found.verdict, len(found.undecided)) == ("cannot_tell", 1)
