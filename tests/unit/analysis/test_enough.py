"""What a run lacks, how much more would be enough, and values that no estimate can have."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from factories.benchmarks import made_contents
from factories.capacity import CapacityWorld, made_capacity_run, made_plan
from factories.costs import made_calibration
from factories.worded import summarise
from tlslab.analysis.enough import minutes, seconds_apart, wanted_blocks
from tlslab.analysis.stats.estimate import estimate, two_stage_estimate
from tlslab.domain.enough import too_wide
from tlslab.domain.finding import Answer, Summary
from tlslab.domain.trial import Trial


def answer_of(summary: Summary) -> Answer:
    assert summary.answer is not None
    return summary.answer


def test_an_interval_is_too_wide_where_its_ends_are_far_apart() -> None:
    assert too_wide(157.0, 74_427.0)
    assert too_wide(None, 3.0)
    assert too_wide(0.0, 3.0)
    assert not too_wide(3390.0, 3440.0)


def test_more_noise_wants_more_blocks() -> None:
    draw = np.random.default_rng(5)
    small, large = (list(draw.normal(0, sd, 10)) for sd in (0.02, 0.1))
    assert wanted_blocks(small) == 10
    assert 20 < wanted_blocks(large) <= 60
    assert wanted_blocks([]) == 10


def started(*seconds: float) -> tuple[Trial, ...]:
    """Trials that started these numbers of seconds after noon."""
    noon = datetime(2026, 3, 14, 12, tzinfo=UTC)
    texts = [(noon + timedelta(seconds=each)).isoformat() for each in seconds]
    return tuple(Trial(n, n, 0, "cell", {}, text, "done") for n, text in enumerate(texts))


DAYS = 2 * 86_400


@pytest.mark.parametrize(
    ("seconds", "apart"),
    [
        ((0, 10, 20, 40, 50), 12.5),
        ((0, 1, 2, 17, 18, 19, 34), 34 / 6),
        ((0, 10, 20, DAYS, DAYS + 10), 10),
        ((0, 10, -3600, -3590), 10),
        ((0, 10, 3610, 3620), 10),
        ((0,), None),
        ((0, 0, 0), None),
        ((0, -10), None),
    ],
)
def test_pauses_and_steps_of_the_clock_are_no_time_of_a_run(
    seconds: tuple[float, ...], apart: float | None
) -> None:
    trials = started(*seconds)
    assert seconds_apart(trials) == apart
    contents = replace(made_capacity_run(), trials=trials)
    # Rounded up to a tenth.
    whole = None if apart is None else math.ceil(2 * apart * len(trials) / 6) / 10
    assert minutes(contents, 2.0) == whole


def test_no_share_is_above_the_whole_and_no_rate_below_zero() -> None:
    busy = estimate([0.999, 0.9995, 0.9, 0.9999], "share")
    assert busy.high == 1.0
    assert busy.value <= 1.0
    assert two_stage_estimate([0.97, 0.9, 0.99, 0.999], "share", 2).high == 1.0
    rate = estimate([0.0, 0.0, 900.0], "1/s")
    assert rate.low == 0.0


def test_a_benchmark_answers_with_its_knee() -> None:
    answer = answer_of(summarise(made_contents()))
    assert answer.sentences[0].startswith("TLS 1.2 handshakes, JDK 17, key on the cluster: ")
    assert len(answer.sentences) == 2
    assert len(answer.tiles) >= 3
    assert answer.figure == "throughput-handshake-tls12"


def test_a_calibration_answers_with_parts_and_error() -> None:
    answer = answer_of(summarise(made_calibration(noise=0.01)))
    parts, error = answer.sentences
    assert parts.startswith("Processor time on nginx: a full handshake ")
    assert "the model is off" in error
    assert answer.tiles[0].title == "Full handshake"


def test_a_capacity_run_of_two_or_three_repetitions_has_no_sentence() -> None:
    summary = summarise(made_capacity_run())
    answer = answer_of(summary)
    assert answer.sentences == ()
    assert answer.lacking is not None
    assert answer.lacking.command[-2:] == ("--blocks", "5")
    assert answer.figure == "maximum"
    maximum = next(figure for figure in summary.figures if figure.id == "maximum")
    assert all(len(samples) == 3 for samples in maximum.series[0].samples)
    assert {*maximum.series[0].low} == {None}


def test_the_command_of_an_answer_has_no_option_for_watching() -> None:
    contents = made_capacity_run()
    watched = ("--metrics", "127.0.0.1:9464", "--live=127.0.0.1:0", "--out", "r")
    command = ("tlslab", "run", "capacity", *watched, "--target", "nginx")
    environment = replace(contents.environment, command=command)
    lacking = answer_of(summarise(replace(contents, environment=environment))).lacking
    assert lacking is not None
    assert lacking.command == (
        "tlslab", "run", "capacity", "--target", "nginx", "--blocks", "5",
    )  # fmt: skip


@pytest.mark.parametrize("bound", [False, True])
def test_a_capacity_run_answers_with_its_maximum(bound: bool) -> None:
    plan = made_plan()
    plan = replace(plan, maximum=replace(plan.maximum, trials=5, most=8))
    world = CapacityWorld(client_us=400.0 if bound else 60.0)
    summary = summarise(made_capacity_run({"nginx": world}, plan=plan))
    answer = answer_of(summary)
    assert answer.lacking is None
    sentence = answer.sentences[0]
    assert ("at least" in sentence) == bound
    texts = " ".join(finding.text for finding in summary.findings)
    assert ("the generator was the limit" in texts) == bound
    assert ("(95 %:" in sentence) != bound
    assert answer.tiles[0].bound == bound
