"""The effect of remedies, and its bounds if the generator was the limit."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from factories.capacity import CapacityWorld, made_capacity_run, made_plan
from factories.capacity_summary import stated
from tlslab.analysis.capacity import summarise
from tlslab.contract.record import CpuTime
from tlslab.domain.capacity import Remedies
from tlslab.domain.finding import Values
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


def stated_remedies(
    change: Callable[[Trial], Trial], ratios: tuple[float, ...] = (0.0, 0.5, 0.9)
) -> dict[str, Values]:
    """The values of each remedy by its name."""
    rules = PLAN.remedies
    assert rules is not None
    plan = replace(PLAN, remedies=Remedies("psk", ratios, (1, 4, 16), 5, rules.window))
    made = made_capacity_run({"nginx": CapacityWorld(client_us=20.0)}, plan)
    summary = summarise(replace(made, trials=tuple(map(change, made.trials))))
    return {each["name"]: each for each in stated(summary, "remedies")[0]["remedies"]}


@pytest.mark.parametrize(
    ("chosen", "bound"),
    [
        (lambda share: False, ""),
        (lambda share: share == 0.9, "at least"),
        (lambda share: share == 0.0, "at most"),
        (lambda share: share in (0.0, 0.9), "unknown"),
    ],
)
def test_a_ratio_is_bounded_by_the_side_that_the_generator_limited(
    chosen: Callable[[float], bool], bound: str
) -> None:
    assert stated_remedies(limited(chosen))["90 % of connections resumed"]["bound"] == bound


@pytest.mark.parametrize(
    ("chosen", "bound"), [(lambda share: False, ""), (lambda share: share == 0.9, "at least")]
)
def test_resumption_is_compared_with_a_server_without_tickets(
    chosen: Callable[[float], bool], bound: str
) -> None:
    found = stated_remedies(limited(chosen))
    resumed = found["90 % of connections resumed"]
    assert (resumed["plain"].n, resumed["of_plain"]) == (5, bound)
    assert found["4 requests per connection"]["plain"] is None


def test_a_ratio_names_the_setting_that_it_is_of() -> None:
    whole = stated_remedies(limited(lambda share: False))
    assert whole["90 % of connections resumed"]["base"] == "0 % of connections resumed"
    half = stated_remedies(limited(lambda share: False), (0.5, 0.9))
    assert half["90 % of connections resumed"]["base"] == "50 % of connections resumed"
