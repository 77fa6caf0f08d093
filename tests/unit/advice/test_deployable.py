"""A cell to which a policy objects keeps its place in the ranking, and is never the answer."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from factories.run import CLIENT_US, SERVER_US, TEN_BLOCKS, Change, World, made_run
from factories.saturated import idle, saturated
from tlslab.advice import advised
from tlslab.advice.objections import deployable
from tlslab.analysis import summarise
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.domain.trial import Reason, Trial
from tlslab.experiment import with_levels
from tlslab.lab.results import summary_of

LEVELS = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", "P-256", "P-384")}


def contents(blocks: int = 10, change: Change = lambda trial: trial) -> RunContents:
    experiment = replace(with_levels(TEN_BLOCKS, LEVELS), blocks=blocks)
    world = World(server_us={**SERVER_US, "P-384": 200.0}, change=change)
    return made_run(world, experiment=experiment)


def run(blocks: int = 10, change: Change = lambda trial: trial) -> Summary:
    return summarise(contents(blocks, change))


def run_of_four(change: Change) -> Summary:
    """Like `run`, with a group that is slower than all others."""
    levels = {**LEVELS, "group": (*LEVELS["group"], "P-521")}
    experiment = replace(with_levels(TEN_BLOCKS, levels), blocks=10)
    costs = {**SERVER_US, "P-384": 200.0}
    return summarise(made_run(World(server_us=costs, change=change), experiment=experiment))


def against(summary: Summary, *groups: str) -> dict[str, str]:
    return {
        cell.key: "A policy (2026): broken" if cell.factors["group"] in groups else ""
        for cell in summary.cells
    }


def test_an_objection_moves_the_answer_to_the_fastest_that_may_be_deployed() -> None:
    summary = run()
    assert summary.answer is not None
    assert summary.answer.sentences[0].startswith("P-384 is the fastest")
    answer = deployable(summary, against(summary, "P-384"))
    assert answer is not None
    first, second = answer.sentences
    assert first.startswith(
        "Of the key-exchange groups that you may deploy, X25519 is the fastest: 3,8"
    )
    assert second == "P-384 is faster, but policies object to it: A policy (2026): broken."
    cell = next(cell for cell in summary.cells if cell.factors["group"] == "X25519")
    assert answer.tiles[0].estimate == cell.estimates["connections_per_s"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (saturated, r"; how fast P-256 \(≥ 3,\d{3}\) can be is not known: the generator was the"),
        (idle, r"; not ranked: P-256 \(not the server's limit\)\."),
    ],
)
def test_what_may_be_deployed_and_may_be_faster_is_named(
    change: Callable[[set[str]], Change], words: str
) -> None:
    summary = run_of_four(change({"P-256"}))
    answer = deployable(summary, against(summary, "P-384"))
    assert answer is not None
    assert "you may deploy, X25519 is the fastest: 3,8" in answer.sentences[0]
    assert re.search(words, answer.sentences[0])
    # The cell to which policies object is named in its own sentence alone.
    other = deployable(summary, against(summary, "P-384", "P-256"))
    assert other is not None
    assert "P-256 (" not in other.sentences[0]


def test_an_objection_to_a_slower_one_changes_nothing() -> None:
    summary = run()
    assert deployable(summary, against(summary, "P-256")) == summary.answer


def test_where_nothing_may_be_deployed_there_is_no_answer() -> None:
    summary = run()
    answer = deployable(summary, against(summary, "X25519", "P-256", "P-384"))
    assert answer is not None
    assert answer.sentences == ()
    assert answer.lacking is not None
    assert answer.lacking.why.startswith("Policies object to every key-exchange group")


def test_rankings_say_what_is_objected_to() -> None:
    summary = advised(run())
    series = next(f for f in summary.figures if f.id == "setting-1-rate").series[0]
    assert series.objections == ("", "", "")
    assert len(series.x) == 3


def test_few_blocks_recommend_nothing() -> None:
    """Neither by a sentence, nor by a configuration that calls its order measured."""
    summary = summary_of(contents(blocks=4))
    assert not [each for each in summary.findings if each.code == "recommendation"]
    assert [each.id for each in summary.texts if each.id.startswith("emit-")] == []
    assert summary.recommendation is None
    assert [each for each in summary_of(contents(blocks=5)).texts if each.id == "emit-nginx"]


def test_a_rate_that_was_not_the_server_s_limit_recommends_nothing() -> None:
    """The recommendation then goes by the server's cost, which all candidates have."""
    experiment = replace(with_levels(TEN_BLOCKS, LEVELS), blocks=5)
    for change, words in (
        (idle({"P-256"}), "by the server's processor time for a new connection"),
        (lambda trial: trial, "by new connections/s"),
    ):
        summary = summary_of(made_run(World(change=change), experiment=experiment))
        (said,) = [each.text for each in summary.findings if each.code == "recommendation"]
        assert f" of 3 that no policy objects to {words}: " in said


def failing(group: str, blocks: int) -> Change:
    """The trials of a group fail in the first blocks."""

    def change(trial: Trial) -> Trial:
        if trial.block >= blocks or trial.factors["group"] != group:
            return trial
        return replace(trial, status="failed", runs={}, reason=Reason("died", "the server died"))

    return change


def test_what_may_be_deployed_needs_as_many_blocks_as_any_answer() -> None:
    summary = run(blocks=5, change=failing("X25519", 1))
    answer = deployable(summary, against(summary, "P-384"))
    assert answer is not None
    assert answer.sentences == ()
    assert answer.lacking is not None
    assert answer.lacking.why.startswith(
        "X25519, which may be deployed, has 4 blocks: fewer than 5 carry no sentence."
    )


def test_the_certainty_is_that_of_what_may_be_deployed() -> None:
    summary = run(blocks=10, change=failing("X25519", 2))
    answer = deployable(summary, against(summary, "P-384"))
    assert answer is not None
    assert answer.confidence.startswith("8 blocks in random order, intervals of 95 %")
    assert summary.answer is not None
    assert summary.answer.confidence.startswith("10 blocks in random order")


def test_the_only_one_that_may_be_deployed_is_not_called_the_fastest() -> None:
    summary = run()
    answer = deployable(summary, against(summary, "P-384", "P-256"))
    assert answer is not None
    assert answer.sentences[0].startswith("X25519 is all that you may deploy: 3,8")
    saturating = run(change=saturated({"P-256"}))
    alone = deployable(saturating, against(saturating, "P-384", "X25519"))
    assert alone is not None
    assert "fastest" not in " ".join(alone.sentences)


def test_no_two_that_may_be_deployed_and_cannot_be_told_apart_are_an_answer() -> None:
    costs = {"X25519": 355.0, "P-256": 357.0, "P-384": 120.0}
    experiment = replace(with_levels(TEN_BLOCKS, LEVELS), blocks=10)
    light = dict.fromkeys(costs, 10.0)
    world = World(server_us=costs, client_us=light, noise=0.15, seed=3)
    summary = summarise(made_run(world, experiment=experiment))
    assert summary.answer is not None
    assert summary.answer.sentences[0].startswith("P-384 is the fastest")
    answer = deployable(summary, against(summary, "P-384"))
    assert answer is not None
    assert answer.lacking is not None
    assert answer.sentences == ()


def test_the_leaders_of_other_settings_are_those_that_may_be_deployed() -> None:
    """The first sentence names no setting with an objection; nor may the second."""
    levels = {**LEVELS, "key": ("ecdsa-p256", "rsa-2048"), "group": ("X25519", "P-384")}
    experiment = replace(with_levels(TEN_BLOCKS, levels), blocks=10)

    def cost_us(cell: Mapping[str, str]) -> float:
        cheap = "P-384" if cell["key"] == "rsa-2048" else "X25519"
        return 200.0 if cell["group"] == cheap else 300.0

    world = World(cost_us=cost_us, client_us={**CLIENT_US, "P-384": 100.0, "X25519": 100.0})
    summary = summarise(made_run(world, experiment=experiment))
    assert summary.answer is not None
    assert summary.answer.sentences[1] == "Elsewhere another leads: P-384 with TLS 1.3, RSA-2048."
    answer = deployable(summary, against(summary, "P-384"))
    assert answer is not None
    assert answer.sentences[0] == summary.answer.sentences[0]
    assert "P-384" not in answer.sentences[1]
