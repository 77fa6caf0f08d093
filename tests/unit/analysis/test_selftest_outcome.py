"""The results of a self-test's blocks: tries, false alarms, slowdowns."""

from dataclasses import replace

import pytest

from factories.run import SERVER_US, World, made_run
from factories.worded import summarise
from tlslab.analysis.selftest_outcome import RANKED_BY, judge_selftest
from tlslab.domain.run import RunContents
from tlslab.domain.selftest import Ability
from tlslab.domain.trial import Trial, TrialRun
from tlslab.experiment import dumps, loads
from tlslab.lab.selftest_run import selftest_experiment

SLOWER = {"2%": 1.02, "5%": 1.05, "10%": 1.10}


def made(noise: float = 0.003, blocks: int = 15, seed: int = 1, times: float = 1.0) -> RunContents:
    costs = {group: times * us for group, us in SERVER_US.items()}
    world = World(noise=noise, seed=seed, target="reference", slower=SLOWER, server_us=costs)
    return made_run(world, experiment=selftest_experiment(blocks))


def judged(contents: RunContents) -> Ability:
    """The servers that are told apart by the rate."""
    by_rate, by_cost = judge_selftest(contents, blocks=5).by
    assert (by_rate.estimate, by_cost.estimate) == RANKED_BY
    return by_rate


def test_every_slowdown_is_found_where_there_is_little_noise() -> None:
    found = judged(made())
    assert found.alarms.tries == 3
    assert [(each.share, each.found.found) for each in found.planted] == [
        (0.02, 3), (0.05, 3), (0.10, 3),
    ]  # fmt: skip
    assert found.smallest is not None
    assert found.smallest.share == 0.02
    for each in found.planted:
        assert each.low is not None
        assert each.high is not None
        assert each.low <= 1 / (1 + each.share) <= each.high


def test_small_slowdowns_are_missed_where_there_is_much() -> None:
    found = judged(made(noise=0.05))
    assert found.planted[0].found.found < 3
    assert found.smallest is None or found.smallest.share > 0.02


def test_a_slowdown_counts_as_found_only_with_all_larger_ones() -> None:
    found = judged(made())
    missed = replace(found.planted[1], found=replace(found.planted[1].found, found=2))
    assert (
        replace(found, planted=(found.planted[0], missed, found.planted[2])).smallest
        == (found.planted[2])
    )


def test_the_noise_is_that_of_a_ratio_and_gives_the_detectable_difference() -> None:
    found = judged(made(noise=0.01, blocks=40))
    assert found.noise is not None
    assert 0.008 < found.noise < 0.022
    shares = [each.share for each in found.detectable]
    assert shares == sorted(shares, reverse=True)


def test_the_spread_from_try_to_try_is_that_of_a_server_by_itself() -> None:
    assert judged(made(blocks=20)).between is None
    steady = judged(made(noise=0.01, blocks=40))
    assert steady.between is not None
    assert steady.within is not None
    assert steady.within == pytest.approx(0.01, rel=0.4)
    # The mean of ten values: five blocks of two servers.
    assert steady.between < steady.within
    contents, slower = made(noise=0.01, blocks=40), made(noise=0.01, blocks=40, times=1.2)
    trials = [
        other if each.block % 10 < 5 else each
        for each, other in zip(contents.trials, slower.trials, strict=True)
    ]
    moving = judged(replace(contents, trials=tuple(trials)))
    assert moving.between is not None
    assert moving.between > 0.08
    assert moving.within == pytest.approx(steady.within, rel=0.3)


def disturbed(trial: Trial) -> Trial:
    """The trial with a fifth of the server's processor taken by other programs."""

    def busier(run: TrialRun) -> TrialRun:
        first, *others = run.machine.per_processor
        processors = (replace(first, busy=first.busy + 0.2), *others)
        return replace(run, machine=replace(run.machine, per_processor=processors))

    return replace(trial, runs={kind: busier(run) for kind, run in trial.runs.items()})


def test_the_noise_is_that_of_the_tries_that_may_be_ranked() -> None:
    quiet, loud = made(noise=0.003), made(noise=0.2)
    trials = [
        disturbed(other) if 5 <= trial.block < 10 else trial
        for trial, other in zip(quiet.trials, loud.trials, strict=True)
    ]
    found = judged(replace(quiet, trials=tuple(trials)))
    assert found.alarms.tries == 2
    assert found.noise is not None
    assert found.noise < 0.02


def test_tries_that_are_not_whole_do_not_count() -> None:
    whole = made()
    cut = replace(whole, trials=tuple(t for t in whole.trials if t.block < 12))
    assert judged(cut).alarms.tries == 2
    assert judge_selftest(replace(whole, trials=()), blocks=5).by == ()


def test_a_try_says_what_the_report_of_a_run_with_its_blocks_says() -> None:
    for seed in range(5):
        contents = made(noise=0.01, blocks=5, seed=seed)
        pair = [c for c in contents.plan.cells if c.factors["burn"] in ("0%", "2%")]
        keys = {c.key for c in pair if c.factors["copy"] == "a"}
        alone = replace(
            contents,
            plan=replace(contents.plan, cells=tuple(c for c in pair if c.key in keys)),
            trials=tuple(t for t in contents.trials if t.cell in keys),
        )
        (ranking,) = (r for r in summarise(alone).rankings if r.estimate == "connections_per_s")
        apart = ranking.places[0].worst == 1
        assert judged(contents).planted[0].found.found == int(apart)


def test_the_experiment_is_read_back_from_its_run_folder() -> None:
    experiment = selftest_experiment(10)
    assert dumps(loads(dumps(experiment), "experiment.toml")) == dumps(experiment)


def test_slowdowns_cost_the_server_more() -> None:
    by_cost = judge_selftest(made(), blocks=5).by[1]
    assert [each.found.found for each in by_cost.planted] == [3, 3, 3]
    assert all((each.ratio or 0) > 1 for each in by_cost.planted)
