"""The effect of remedies, and the words if the generator was the limit."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from factories.capacity import CapacityWorld, made_capacity_run, made_plan
from factories.worded import summarise
from tlslab.contract.record import CpuTime
from tlslab.domain.capacity import Remedies
from tlslab.domain.trial import Trial

PLAN = made_plan(remedies=True, repetitions=5)


def limited(chosen: Callable[[float], bool]) -> Callable[[Trial], Trial]:
    """The generator is busy all the time at this share of resumed connections."""

    def change(trial: Trial) -> Trial:
        run = trial.runs.get("remedy")
        share = trial.factors.get("resume_ratio")
        if run is None or share is None or not chosen(float(share)):
            return trial
        seconds = run.record.seconds
        busy = CpuTime(round(seconds * 5e5), round(seconds * 5e5))
        workers = tuple(replace(worker, cpu=busy) for worker in run.record.workers)
        record = replace(run.record, workers=workers, cpu=busy)
        return replace(trial, runs={"remedy": replace(run, record=record)})

    return change


def sentence(change: Callable[[Trial], Trial], ratios: tuple[float, ...] = (0.0, 0.5, 0.9)) -> str:
    rules = PLAN.remedies
    assert rules is not None
    plan = replace(PLAN, remedies=Remedies("psk", ratios, (1, 4, 16), 5, rules.window))
    made = made_capacity_run({"nginx": CapacityWorld(client_us=20.0)}, plan)
    summary = summarise(replace(made, trials=tuple(map(change, made.trials))))
    return next(each.text for each in summary.findings if each.code == "remedies")


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (lambda share: False, r"90 % of connections resumed [01]\.\d+ \("),
        (lambda share: share == 0.9, r"90 % of connections resumed at least [01]\.\d+ \("),
        (lambda share: share == 0.0, r"90 % of connections resumed at most [01]\.\d+ \("),
        (
            lambda share: share in (0.0, 0.9),
            "90 % of connections resumed: not known, the generator was the limit with and without",
        ),
    ],
)
def test_a_ratio_is_bounded_by_the_side_that_the_generator_limited(
    chosen: Callable[[float], bool], words: str
) -> None:
    assert re.search(words, sentence(limited(chosen)))


def test_a_ratio_names_the_setting_that_it_is_of() -> None:
    assert "times 0 % of connections resumed" in sentence(limited(lambda share: False))
    text = sentence(limited(lambda share: False), (0.5, 0.9))
    assert "times 50 % of connections resumed" in text
    assert "without" not in text
