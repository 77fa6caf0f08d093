"""The progress of a run as its user sees it."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress

from factories.run import made_run
from tlslab.cli.progress import Lines, Live, outcome, speed
from tlslab.domain import events
from tlslab.domain.plan import Plan
from tlslab.domain.stopping import Forecast
from tlslab.domain.trial import Reason, Trial
from tlslab.experiment import load, make_plan, refuse_levels


@pytest.fixture
def plan() -> Plan:
    lacking = refuse_levels({("group", "X448"): "not \x1b[31mthere"})
    return make_plan(load("groups", "quick"), 7, lacking)


def failed(plan: Plan, number: int) -> Trial:
    planned = plan.trials[number]
    reason = Reason("reset", "the server\x1b]0;title\x07 hung up")
    return Trial(number, 0, number, planned.cell, {}, "2026-01-01", "failed", reason)


def story(plan: Plan) -> list[events.Event]:
    return [
        events.Warned("something: do this"),
        events.RunStarted(plan, "reference", Path("runs/x"), 3, 2.0),
        events.BlockStarted(0),
        events.TrialStarted(0, plan.trials[3].cell),
        events.Rate(plan.trials[3].cell, "capacity", events.Pace(1234.0, 1234.0, 8, 0, 1.0, 2.5)),
        events.GeneratorLost("g1", "its node died"),
        events.TrialEnded(failed(plan, 3)),
        events.Skipped(1, "the server died in block 1"),
        events.Skipped(0, "never shown"),
    ]


def test_plain_lines_report_plan_exclusions_trials_and_time_left(plan: Plan) -> None:
    lines: list[str] = []
    observer = Lines(lines.append)
    for event in story(plan):
        observer(event)
    assert lines == [
        "about 44 s: 5 cells × 5 blocks against reference, seed 7; results in runs/x",
        "3 trials done before",
        "left out: 1 cell: not  [31mthere",
        "warning: the generator g1 was lost: its node died",
        f"[4/25] {plan.trials[3].cell}: failed: reset: the server ]0;title  hung up; 42 s left",
        "the server died in block 1: 1 trial left out",
    ]


def test_a_live_bar_shows_the_same_and_the_rate(plan: Plan) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, color_system=None)
    with Progress(console=console) as progress:
        observer = Live(progress)
        for event in story(plan):
            observer(event)
        task = progress.tasks[0]
        assert (task.completed, task.total) == (4, 24)
        assert task.fields["rate"] == "1,234 connections/s, 8 in flight, p50 1.0 p99 2.5 ms"
        assert task.fields["left"] == "42 s left"
    shown = screen.getvalue()
    assert "failed: reset: the server ]0;title" in shown
    assert "the server died in block 1" in shown
    assert "the generator g1 was lost" in shown
    assert "never shown" not in shown
    assert "\x07" not in shown


@pytest.mark.parametrize(
    ("quick", "target", "more", "line"),
    [
        (False, "nginx", {}, "about 25 min 12 s: 24 cells × 15 blocks against nginx, seed 7"),
        (False, "nginx", {"at_least": 151.0}, "2 min 31 s to 25 min 12 s: 24 cells × 15 blocks"),
        (True, None, {}, "about 1 min 00 s: 6 cells × 5 blocks, seed 7; results"),
        (True, "nginx", {"sampling_s": 36.0}, "about 1 min 00 s, then 36 s of samples: 6 cells"),
    ],
)
def test_the_first_line_has_time_cells_and_target(
    quick: bool, target: str | None, more: dict[str, Any], line: str
) -> None:
    lines: list[str] = []
    started = events.RunStarted(
        make_plan(load("groups", "quick" if quick else ""), 7),
        target,
        Path("r"),
        0,
        2.0 if quick else 4.2,
        **more,
    )
    Lines(lines.append)(started)
    assert lines[0].startswith(line)


def test_a_second_reports_requests_and_failures_where_there_are_any() -> None:
    pace = events.Pace(100.0, 1000.0, 8, 3, None, None)
    assert speed(pace) == "100 connections/s, 1,000 requests/s, 8 in flight, 3 failed"


def test_a_measurement_that_was_over_before_it_began_has_no_rate() -> None:
    trial = next(trial for trial in made_run().trials if "capacity" in trial.runs)
    assert outcome(trial).endswith(" connections/s")
    run = trial.runs["capacity"]
    over = replace(run, record=replace(run.record, seconds=0.0))
    assert "nothing was measured" in outcome(replace(trial, runs={"capacity": over}))


def test_samples_of_call_stacks_have_a_line_each() -> None:
    lines: list[str] = []
    watch = Lines(lines.append)
    watch(events.Sampled("a cell", 1, 2, ""))
    watch(events.Sampled("another", 2, 2, "the server\x1b[2J died"))
    watch(events.NotSampled("perf is not installed"))
    assert lines == [
        "why [1/2] a cell: call stacks sampled",
        "why [2/2] another: no samples: the server [2J died",
        "no samples for --why: perf is not installed",
    ]


@pytest.mark.parametrize(
    ("forecast", "line"),
    [
        (Forecast(8, 6, 13, 185.0, True), "about 8 blocks (6 to 13), some 3 min 05 s from here"),
        (Forecast(5, 5, 5, 40.0, True), "about 5 blocks, some 40 s from here"),
        (
            Forecast(15, 9, 15, 300.0, False),
            "all 15 blocks, some 5 min 00 s from here; they will not settle every comparison",
        ),
        (
            Forecast(15, 9, 15, 300.0, False, may_settle=True),
            "all 15 blocks, some 5 min 00 s from here; they may not settle every comparison",
        ),
    ],
)
def test_after_the_pilot_the_run_says_how_long_it_will_be(forecast: Forecast, line: str) -> None:
    lines: list[str] = []
    Lines(lines.append)(events.Forecasted(forecast))
    assert lines == [f"forecast: {line}"]
