"""TLSLAB_SHORT_RUNS shortens every shipped experiment; the short form is still valid."""

from pathlib import Path

import pytest

from tlslab.cli.run_options import Options
from tlslab.cli.running import changed
from tlslab.domain.benchmark import BenchmarkSettings
from tlslab.domain.capacity import CapacityPlan
from tlslab.domain.experiment import Experiment
from tlslab.domain.workload import Window
from tlslab.experiment import dumps, file_kind, load, loads, shipped
from tlslab.experiment.short import (
    BLOCKS,
    LEVELS,
    MEASURE_MS,
    VARIABLE,
    VARYING,
    WARMUP_MS,
    asked_for,
    warmed_up,
)
from tlslab.servers import jdk
from tlslab.servers.jdk import Jdk, Jdks


def windows(experiment: Experiment) -> list[Window]:
    """All windows of the runs of an experiment."""
    work, settings = experiment.workload, experiment.settings
    found = [work.capacity, work.client_cost]
    found += [work.keep_alive.window] if work.keep_alive else []
    if isinstance(settings, CapacityPlan):
        stages = (
            settings.search, settings.maximum, settings.open_loop, settings.warm_up,
            settings.remedies, settings.validation,
        )  # fmt: skip
        found += [stage.window for stage in stages if stage is not None]
    return found


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", shipped())
def test_a_short_experiment_is_short(
    name: str, quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = load(name, "quick" if quick else "")
    monkeypatch.setenv(VARIABLE, "1")
    short = load(name, "quick" if quick else "")
    assert VARIABLE in short.title
    assert short.blocks == 1
    assert all(w.warmup_ms <= WARMUP_MS and w.measure_ms <= MEASURE_MS for w in windows(short))
    for factor in short.factors:
        assert 1 <= len(factor.levels) <= LEVELS
        assert set(factor.levels) <= set(whole.levels(factor.name))
        level = whole.baseline.get(factor.name)
        assert level not in whole.levels(factor.name) or level in factor.levels
    vary = [factor for factor in short.factors if len(factor.levels) > 1]
    several = [factor for factor in whole.factors if len(factor.levels) > 1]
    always = file_kind(whole).always_vary
    assert min(len(several), 1) <= len(vary) <= max(VARYING + len(whole.only), len(always))
    if isinstance(short.settings, BenchmarkSettings):
        assert short.settings.seconds <= 1
    # The run folder's copy of the experiment is read back unchanged.
    assert dumps(loads(dumps(short), name)) == dumps(short)


def test_runs_are_short_only_when_they_are_asked_to_be() -> None:
    assert not asked_for({})
    assert not asked_for({VARIABLE: "0"})
    assert asked_for({VARIABLE: "1"})


@pytest.mark.parametrize("name", ["groups", "capacity"])
def test_an_option_gives_a_short_run_few_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(blocks: int) -> str:
        return dumps(changed(load(name, "quick"), Options(blocks=blocks)))

    assert made(20) != made(BLOCKS)
    monkeypatch.setenv(VARIABLE, "1")
    assert made(20) == made(BLOCKS)
    assert made(BLOCKS - 1) != made(BLOCKS)


def test_a_server_of_a_short_run_is_hardly_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [warmed_up(length) for length in (0, 12_000)] == [0, 12_000]
    monkeypatch.setenv(VARIABLE, "1")
    assert [warmed_up(length) for length in (0, 12_000)] == [0, WARMUP_MS]


def test_one_java_is_enough_for_a_short_run(monkeypatch: pytest.MonkeyPatch) -> None:
    both = Jdks((Jdk(Path("/old"), "17.0.1"), Jdk(Path("/new"), "25.0.1")), ())
    monkeypatch.setattr(jdk, "find_jdks", lambda: both)

    def levels(*options: str, given: tuple[str, ...] = ()) -> tuple[str, ...]:
        asked = Options(settings=list(options), jdks=[Path(each) for each in given])
        return changed(load("runtimes", "quick"), asked).levels("jdk")

    assert levels() == ("jdk-17", "jdk-25")
    monkeypatch.setenv(VARIABLE, "1")
    assert levels() == ("jdk-25",)
    assert levels(given=("/old",)) == ("jdk-17",)
    # All levels that --set names are kept.
    assert levels("jdk=jdk-17,jdk-25") == ("jdk-17", "jdk-25")
