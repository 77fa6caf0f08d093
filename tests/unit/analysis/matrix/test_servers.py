"""Servers compared with each other, and a server behind a front with the same one direct."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from factories.measured import RATE, measured
from factories.run import TrialChange, World, made_run
from factories.saturated import idle, saturated
from factories.worded import summarise
from tlslab.analysis.compare import Measured, compare
from tlslab.analysis.matrix.servers import leading_server, offloaded, places
from tlslab.analysis.stats.estimate import estimate
from tlslab.domain.deployment import Deployment
from tlslab.domain.estimate import Estimate
from tlslab.domain.experiment import Exclusion, Experiment
from tlslab.domain.finding import Answer, CellSummary, Finding, Summary
from tlslab.domain.run import Deployed
from tlslab.domain.trial import Trial
from tlslab.experiment import load, with_levels
from tlslab.report import render_html
from tlslab.report.facts import facts

pytestmark = pytest.mark.slow


def own_certificates() -> Experiment:
    """Two servers, each with a certificate of its own kind: no two cells have equal levels."""
    apart = tuple(
        Exclusion({"server": server, "key": key}, "it has another one")
        for server, key in (("nginx", "rsa-*"), ("apache", "ecdsa-*"))
    )
    levels = {"group": ("X25519", "P-256", "P-384")}
    experiment = with_levels(load("servers", "quick"), levels)
    return replace(experiment, exclusions=apart, baseline={"group": "X25519"})


def summary_of(name: str, world: World, **levels: tuple[str, ...]) -> Summary:
    experiment = own_certificates() if name == "own" else load(name, "quick")
    experiment = with_levels(experiment, levels)
    return summarise(made_run(world, experiment=replace(experiment, blocks=10)))


@pytest.fixture(scope="module")
def two() -> Summary:
    return summary_of("own", World(slower={"apache": 1.2}))


@pytest.fixture(scope="module")
def offload() -> Summary:
    return summary_of("offload", World(slower={"haproxy": 0.95, "nginx": 1.5}))


def answered(summary: Summary) -> Answer:
    assert summary.answer is not None
    return summary.answer


def finding(summary: Summary, code: str, words: str = "") -> Finding:
    return next(f for f in summary.findings if f.code == code and words in f.text)


def test_the_first_sentence_answers_which_server_carries_more(two: Summary) -> None:
    first, second = answered(two).sentences
    assert first.startswith("The best of nginx (TLS 1.2, ECDSA P-256, X25519) carries")
    assert first.endswith("times the best of apache (TLS 1.2, RSA-2048, X25519).")
    assert "of nginx (TLS 1.2, ECDSA P-256)" in second


@pytest.mark.parametrize("change", [saturated, idle])
def test_cells_that_may_be_better_than_the_best_are_counted(
    change: Callable[[set[str]], TrialChange],
) -> None:
    world = World(slower={"apache": 1.2}, change=change({"P-384"}))
    summary = summary_of("own", world)
    words = "; 2 cells not ranked: a lower bound, or no valid rate of the server."
    assert answered(summary).sentences[0].endswith(words)
    assert words in finding(summary, "servers").text


def test_the_answer_is_of_the_best_server_whichever_comes_first() -> None:
    summary = summary_of("own", World(slower={"nginx": 4.0}))
    first, second = answered(summary).sentences
    assert first.startswith("The best of apache")
    assert "RSA-2048" in second
    assert answered(summary).figure == "setting-2-rate"


def test_servers_in_the_same_settings_leave_the_answer_to_the_ranking() -> None:
    summary = summary_of("groups", World(slower={"apache": 1.5}), server=("nginx", "apache"))
    assert not any(text.startswith("The best of") for text in answered(summary).sentences)


def test_servers_with_the_same_certificates_are_compared_at_equal_key_and_group() -> None:
    summary = summary_of("servers", World(slower={"apache": 1.2}))
    first, second = answered(summary).sentences
    assert first.startswith("Nginx is the fastest server:")
    assert first.endswith("that of apache.")
    assert second == "In the 3 other settings nginx leads, too."
    assert summary.excluded == ()


def test_servers_that_do_the_same_are_not_told_apart() -> None:
    world = World(noise=0.02)
    levels = {"key": ("ecdsa-p256",), "server": ("haproxy", "reference")}
    summary = summary_of("own", world, **levels)
    assert "which is faster stays open" in finding(summary, "servers").text


def test_a_front_is_compared_with_the_same_group_and_the_fastest_direct(offload: Summary) -> None:
    text = finding(offload, "offload", "behind haproxy").text
    assert "with P-384 apache behind haproxy carries" in text
    assert "times as many as direct with P-384 and" in text
    assert "times as many as direct with X25519." in text
    assert finding(offload, "offload", "behind nginx")


def test_a_front_of_a_run_without_groups_has_no_sentence() -> None:
    cells = [
        Measured(
            CellSummary(
                front,
                {"server": "apache", "front": front, "tls": "1.3"},
                "valid",
                (),
                5,
                {RATE: estimate([4000.0] * 5, "/s")},
            ),
            {RATE: dict(enumerate([4000.0] * 5))},
        )
        for front in ("none", "haproxy")
    ]
    assert [place.direct for place in places(cells)] == [True, False]
    assert offloaded(cells) == []


def test_the_table_has_a_row_for_each_server_and_setting(offload: Summary) -> None:
    table = offload.tables[0]
    assert table.columns[:4] == ("", "server", "connections/s", "ratio")
    assert [row[1] for row in table.rows[:3]] == [
        "apache direct", "apache behind haproxy", "apache behind nginx",
    ]  # fmt: skip
    assert [row[0] for row in table.rows] == ["X25519"] * 3 + ["P-384"] * 3
    assert table.rows[0][3] == 1
    ratio = table.rows[1][3]
    assert isinstance(ratio, Estimate)
    assert ratio.value == pytest.approx(1 / 0.95, rel=0.02)
    assert (ratio.unit, ratio.n) == ("ratio", 10)


def test_each_server_has_its_processor_use_over_time(offload: Summary) -> None:
    # After the settings' own figures.
    rate, *use = [each for each in offload.figures if not each.id.startswith("setting-")]
    assert rate.kind == "bars"
    assert [series.name for series in rate.series] == [row[1] for row in offload.tables[0].rows[:3]]
    assert [figure.title.rpartition(": ")[2] for figure in use] == [s.name for s in rate.series]
    assert all(len(figure.series) == 2 for figure in use)
    assert "Numbers" in render_html(offload)


def test_one_server_has_nothing_beside_it(quick_summary: Summary) -> None:
    assert not [f for f in quick_summary.figures if f.id.startswith("servers-")]
    assert "servers" not in {table.id for table in quick_summary.tables}


def test_a_sentence_speaks_of_its_own_server() -> None:
    experiment = replace(own_certificates(), blocks=5)

    def busy_on_both(trial: Trial) -> Trial:
        if trial.factors["server"] != "apache":
            return trial
        runs = dict(trial.runs)
        for kind, run in trial.runs.items():
            if (used := run.server) is not None:
                used = replace(used, user_us=2 * used.user_us, system_us=2 * used.system_us)
                runs[kind] = replace(run, server=used)
        return replace(trial, runs=runs)

    world = World(slower={"apache": 1.2}, change=busy_on_both)
    contents = made_run(world, experiment=experiment)
    target = contents.environment.target
    deployed = tuple(
        Deployed(Deployment(name), replace(target, name=name, processors=processors))
        for name, processors in (("nginx", (0,)), ("apache", (0, 1)))
    )
    environment = replace(contents.environment, deployments=deployed)
    summary = summarise(replace(contents, environment=environment))
    texts = [f.text for f in summary.findings]
    assert any("on one processor of nginx (TLS 1.2, ECDSA P-256)" in text for text in texts)
    assert any("on two processors of apache (TLS 1.2, RSA-2048)" in text for text in texts)
    reported = dict(facts(summary))
    assert reported["Server nginx"].endswith("on processors 0")
    assert reported["Server apache"].endswith("on processors 0, 1")


def cost_us(costs: dict[tuple[str, str], float]) -> Callable[[Mapping[str, str]], float]:
    """The cost of a connection for a server with a group; 600 microseconds for the others."""
    return lambda factors: costs.get((factors["server"], factors["group"]), 600.0)


def bounded(trial: Trial) -> Trial:
    """The generator is the limit of Apache with X25519."""
    return saturated({"X25519"})(trial) if trial.factors["server"] == "apache" else trial


def test_a_lower_bound_above_all_others_is_first() -> None:
    costs = {("apache", "X25519"): 100.0, ("nginx", "X25519"): 255.0}
    summary = summary_of("own", World(cost_us=cost_us(costs), change=bounded))
    first, _ = answered(summary).sentences
    assert first.startswith("The best of apache (TLS 1.2, RSA-2048, X25519) carries ≥ 9,8")
    assert re.search(r", at least 2\.\d+ times the best of nginx \(TLS 1\.2, ECDSA P-256", first)
    assert first in finding(summary, "servers").text


def test_a_lower_bound_that_may_be_the_best_of_its_server_leaves_the_answer_open() -> None:
    costs = {("apache", "X25519"): 300.0, ("nginx", "X25519"): 255.0}
    summary = summary_of("own", World(cost_us=cost_us(costs), change=bounded))
    assert not any(text.startswith("The best of") for text in answered(summary).sentences)


def half_idle(trial: Trial) -> Trial:
    """Neither side is the limit of Apache with X25519."""
    return idle({"X25519"})(trial) if trial.factors["server"] == "apache" else trial


def test_a_rate_that_nobody_limited_above_its_server_s_best_leaves_the_answer_open() -> None:
    costs = {("apache", "X25519"): 300.0, ("nginx", "X25519"): 255.0}
    summary = summary_of("own", World(cost_us=cost_us(costs), change=half_idle))
    assert not any(text.startswith("The best of") for text in answered(summary).sentences)
    costs[("apache", "X25519")] = 900.0
    summary = summary_of("own", World(cost_us=cost_us(costs), change=half_idle))
    assert answered(summary).sentences[0].startswith("The best of nginx")


def test_the_answer_says_how_the_servers_were_tested(two: Summary) -> None:
    words = "; the servers by tests of all 15 pairs of their cells together (Holm)"
    assert answered(two).confidence.endswith(words)
    assert "chosen by the same measurements" in finding(two, "servers").text


def of(server: str, group: str, logs: Sequence[float]) -> Measured:
    """A cell of a server with its own key."""
    return measured({"server": server, "key": f"key of {server}", "group": group}, logs)


def test_the_best_of_many_cells_must_stand_the_tests_of_all_pairs() -> None:
    """The best two alone differ with p = 0.012; among 28 pairs that is not established."""
    ahead = of("nginx", "1", [0.03, 0.02, 0.01, 0.02, 0.03, 0.0])
    behind = of("apache", "1", [0.0] * 6)
    pair = compare(ahead, behind, RATE)
    assert pair is not None
    assert pair.differs
    assert leading_server([ahead, behind]) is not None
    others = [
        of(server, f"{number}", [sign * 0.04 - 0.002 * number for sign in signs])
        for server, rows in (
            ("nginx", [(1, -1, 1, -1, 1, -1), (1, 1, -1, -1, 1, -1), (-1, 1, 1, -1, -1, 1)]),
            ("apache", [(-1, 1, -1, 1, -1, 1), (-1, -1, 1, 1, -1, 1), (1, -1, -1, 1, 1, -1)]),
        )
        for number, signs in enumerate(rows, start=2)
    ]
    assert leading_server([ahead, *others, behind]) is None
