"""Two servers of one run compared: ratios are paired by block, whatever the machine does."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import scipy

from factories.capacity import CapacityWorld, made_capacity_run
from factories.run import World, made_run
from factories.worded import summarise
from tlslab.analysis.gate import gate
from tlslab.analysis.overlay import Side, overlay, two_servers
from tlslab.analysis.overlay.one_run import short_names
from tlslab.domain.enough import EQUIVALENCE
from tlslab.domain.errors import UsageError
from tlslab.domain.finding import Comparison, Summary
from tlslab.domain.run import RunContents
from tlslab.experiment import load, with_levels

BASE, HEAD = "https://localhost:7443/page", "https://localhost:9443/page"
RATE = "connections_per_s"
COST = "server_cpu_us_per_connection"


def made(slower: float = 1.05, blocks: int = 12, drift: float = 0.3, seed: int = 1) -> RunContents:
    """A run of two servers on a machine whose speed drifts, the second some times as slow."""
    one = with_levels(
        load("groups"), {"server": (BASE, HEAD), "tls": ("1.3",), "key": ("ecdsa-p256",)}
    )
    one = replace(with_levels(one, {"group": ("X25519",)}), blocks=blocks, stopping=None)
    calls = 0

    def cost_us(levels: Mapping[str, str]) -> float:
        nonlocal calls
        # Each trial has two runs, each block two trials.
        block, calls = calls // 4, calls + 1
        times = slower if levels["server"] == HEAD else 1.0
        return 255.0 * times * math.exp(drift * math.sin(block))

    return made_run(World(cost_us=cost_us, seed=seed), experiment=one)


def found(contents: RunContents) -> Summary:
    return two_servers(contents, EQUIVALENCE)


def ratio(summary: Summary, name: str) -> Comparison:
    (only,) = [each for each in summary.comparisons if each.estimate == name]
    return only


def test_an_effect_of_the_block_on_both_servers_is_not_in_their_ratio() -> None:
    contents = made()
    compared = found(contents)
    for name, least, most in ((RATE, 0.92, 0.98), (COST, 1.02, 1.08)):
        paired = ratio(compared, name)
        assert paired.low is not None
        assert paired.high is not None
        assert least < paired.low < paired.ratio < paired.high < most
        assert paired.verdict == "slower"
        assert paired.method.startswith("paired by block; ")
    assert gate(compared.comparisons, 0.01).verdict == "slower"
    assert gate(compared.comparisons, 0.10).verdict == "passed"
    # The same values as those of two runs.
    summary = summarise(contents)
    sides = [
        Side(level, replace(summary, cells=tuple(c for c in summary.cells if level in c.key)))
        for level in (BASE, HEAD)
    ]
    apart = ratio(overlay(sides[0], sides[1]), RATE)
    assert apart.verdict == "cannot_tell"
    assert gate([apart], 0.01).verdict == "cannot_tell"


def test_equal_servers_are_bounded_and_pass() -> None:
    compared = found(made(slower=1.0))
    assert ratio(compared, RATE).verdict == "equivalent"
    assert gate(compared.comparisons, 0.03).verdict == "passed"
    assert compared.answer is not None
    assert compared.answer.question == "Does localhost:9443 differ from localhost:7443?"


def test_the_error_of_a_ratio_is_that_of_the_mean_of_its_logarithms() -> None:
    contents = made(blocks=7)
    rates: dict[str, list[float]] = {BASE: [], HEAD: []}
    for trial in sorted(contents.trials, key=lambda trial: trial.block):
        record = trial.runs["capacity"].record
        rates[trial.factors["server"]].append(record.outcomes.completed / record.seconds)
    logs = np.log(np.array(rates[HEAD]) / np.array(rates[BASE]))
    paired = ratio(found(contents), RATE)
    assert paired.ratio == pytest.approx(math.exp(logs.mean()))
    assert paired.error == pytest.approx(logs.std(ddof=1) / math.sqrt(7))
    assert (paired.degrees, paired.n) == (6, 7)
    assert paired.by_block == pytest.approx(np.exp(logs))
    assert paired.p == pytest.approx(scipy.stats.ttest_1samp(logs, 0).pvalue)


def test_a_run_that_ended_by_its_values_has_wider_errors() -> None:
    contents = made()
    stopping = load("groups").stopping
    ended = replace(contents, experiment=replace(contents.experiment, stopping=stopping))
    fixed, anytime = (ratio(found(each), RATE) for each in (contents, ended))
    assert fixed.error is not None
    assert anytime.error is not None
    assert (anytime.degrees, anytime.ratio) == (None, fixed.ratio)
    # A test of single blocks would take the number of blocks for given.
    assert (anytime.by_block, len(fixed.by_block or ())) == (None, 12)
    assert anytime.error > fixed.error
    assert "confidence sequence" in anytime.method


def test_times_have_ratios_that_are_made_as_between_two_runs() -> None:
    compared = found(made())
    assert ratio(compared, "handshake_ms_p50").method.startswith("each server by itself; ")
    assert compared.method[0].startswith("Intervals of ratios: paired by block; those of times: ")


def test_a_cell_that_one_server_lacks_is_named_as_the_servers() -> None:
    contents = made(slower=1.0)
    failing = tuple(
        replace(trial, status="failed", runs={}) if trial.factors["server"] == HEAD else trial
        for trial in contents.trials
    )
    compared = found(replace(contents, trials=failing))
    assert {each.method for each in compared.comparisons} == {
        "the second server has no value (failed)"
    }
    assert gate(compared.comparisons, 0.03).verdict == "cannot_tell"


def test_the_page_speaks_of_servers_and_of_one_machine() -> None:
    compared = found(made())
    assert compared.experiment.title.startswith("localhost:7443 and localhost:9443: ")
    assert "random order" in compared.environment.warnings[0]
    assert len(set(compared.environment.warnings)) == len(compared.environment.warnings)
    assert {series.name for series in compared.figures[0].series} == {
        "localhost:7443",
        "localhost:9443",
    }
    table = next(each for each in compared.tables if each.id == "ratios")
    assert table.columns[2:4] == ("localhost:7443", "localhost:9443")
    assert not any("server" in each.candidate for each in compared.comparisons)
    assert "https" not in compared.comparisons[0].candidate


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        (BASE, HEAD, ("localhost:7443", "localhost:9443")),
        ("https://h/a", "https://h/b", ("h/a", "h/b")),
        ("nginx", "apache", ("nginx", "apache")),
    ],
)
def test_servers_are_named_by_what_they_differ_in(
    first: str, second: str, names: tuple[str, str]
) -> None:
    assert short_names(first, second) == names


def test_runs_without_two_servers_are_refused() -> None:
    with pytest.raises(UsageError, match="the run has 1 server: two are compared"):
        found(made_run(quick=True))
    three = with_levels(load("groups", "quick"), {"server": ("nginx", "apache", "haproxy")})
    with pytest.raises(UsageError, match="the run has 3 servers"):
        found(made_run(experiment=three))
    with pytest.raises(UsageError, match="a run of capacity has no blocks"):
        found(made_capacity_run({"nginx 1": CapacityWorld()}))
