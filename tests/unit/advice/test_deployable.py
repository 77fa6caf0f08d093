"""What policies object to keeps its place in the ranking, and is never the answer."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from factories.run import SERVER_US, TEN_BLOCKS, Change, World, made_run
from factories.saturated import idle, saturated
from tlslab.advice import advised
from tlslab.advice.answer import deployable
from tlslab.analysis import summarise
from tlslab.experiment import with_levels
from tlslab.model.finding import Summary

LEVELS = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", "P-256", "P-384")}


def run(blocks: int = 10, change: Change = lambda trial: trial) -> Summary:
    experiment = replace(with_levels(TEN_BLOCKS, LEVELS), blocks=blocks)
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
    summary = run(change=change({"P-256"}))
    answer = deployable(summary, against(summary, "P-384"))
    assert answer is not None
    assert "you may deploy, X25519 is the fastest: 3,8" in answer.sentences[0]
    assert re.search(words, answer.sentences[0])
    # What policies object to is named in its own sentence alone.
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


def test_few_blocks_recommend_in_no_sentence() -> None:
    summary = advised(run(blocks=4))
    assert not [each for each in summary.findings if each.code == "recommendation"]


def test_a_recommendation_names_what_was_not_ranked() -> None:
    summary = advised(run(change=idle({"P-256"})))
    (finding,) = [each for each in summary.findings if each.code == "recommendation"]
    assert finding.text.endswith(" Not ranked: P-256 (not the server's limit).")
    (finding,) = [each for each in advised(run()).findings if each.code == "recommendation"]
    assert "ranked" not in finding.text
