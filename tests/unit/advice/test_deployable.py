"""A cell to which a policy objects keeps its place in the ranking, and is never the answer."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from factories.policy import forbidding
from factories.run import CLIENT_US, SERVER_US, TEN_BLOCKS, TrialChange, World, made_run
from factories.saturated import idle
from factories.worded import advised, summarise
from tlslab.domain.finding import Answer, Summary
from tlslab.domain.run import RunContents
from tlslab.domain.trial import Reason, Trial
from tlslab.experiment import with_levels
from tlslab.lab.results import recommendations, summary_of

LEVELS = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", "P-256", "P-384")}


def contents(blocks: int = 10, change: TrialChange = lambda trial: trial) -> RunContents:
    experiment = replace(with_levels(TEN_BLOCKS, LEVELS), blocks=blocks)
    world = World(server_us={**SERVER_US, "P-384": 200.0}, change=change)
    return made_run(world, experiment=experiment)


def forbidden(of: RunContents, *groups: str) -> Summary:
    by = forbidding(*groups)
    return advised(summarise(of), recommendations(of, by=by), by)


def answer(summary: Summary) -> Answer:
    assert summary.answer is not None
    return summary.answer


def test_an_objection_moves_the_answer_to_what_is_recommended() -> None:
    whole = contents()
    assert answer(summarise(whole)).sentences[0].startswith("P-384 is the fastest")
    summary = forbidden(whole, "P-384")
    first, second = answer(summary).sentences
    assert first.startswith(
        "X25519 is recommended on nginx (TLS 1.3, ECDSA P-256), aim throughput."
    )
    assert "P-384, not recommended: A policy (2026): section 1: broken; X25519 has" in second
    assert summary.recommendation is not None
    assert summary.recommendation["servers"][0]["order"] == ["X25519", "P-256"]
    cell = next(cell for cell in summary.cells if cell.factors["group"] == "X25519")
    assert answer(summary).tiles[0].estimate == cell.estimates["connections_per_s"]
    assert answer(summary).confidence.startswith("10 blocks with all candidates")


def test_an_objection_to_a_slower_one_changes_nothing() -> None:
    whole = contents()
    assert answer(forbidden(whole, "P-256")) == summarise(whole).answer


def test_where_nothing_may_be_deployed_there_is_no_answer() -> None:
    summary = forbidden(contents(), "X25519", "P-256", "P-384")
    lacking = answer(summary).lacking
    assert lacking is not None
    assert lacking.why.startswith("Policies object to every key-exchange group")
    assert answer(summary).sentences == ()
    assert summary.recommendation is None


def test_rankings_say_what_is_objected_to() -> None:
    series = next(f for f in forbidden(contents(), "P-384").figures if f.id == "setting-1-rate")
    (ranked,) = series.series
    objected = dict(zip(ranked.x, ranked.objections, strict=True))
    assert [name for name, objection in objected.items() if objection] == ["P-384"]


def test_few_blocks_recommend_nothing() -> None:
    """Neither by a sentence, nor by a configuration that calls its order measured."""
    summary = summary_of(contents(blocks=4))
    assert not [each for each in summary.findings if each.code == "recommendation"]
    assert [each.id for each in summary.texts if each.id.startswith("emit-")] == []
    assert summary.recommendation is None
    assert [each for each in summary_of(contents(blocks=5)).texts if each.id == "emit-nginx"]


@pytest.mark.parametrize(
    ("change", "measure"),
    [
        (idle({"P-256"}), "server_cpu_us_per_connection"),
        (lambda trial: trial, "connections_per_s"),
    ],
)
def test_a_rate_that_was_not_the_servers_limit_recommends_nothing(
    change: TrialChange, measure: str
) -> None:
    """The recommendation then goes by the server's cost, which all candidates have."""
    experiment = replace(with_levels(TEN_BLOCKS, LEVELS), blocks=5)
    summary = summary_of(made_run(World(change=change), experiment=experiment))
    assert summary.recommendation is not None
    assert summary.recommendation["servers"][0]["measure"] == measure


def failing(group: str, blocks: int) -> TrialChange:
    """The trials of a group fail in the first blocks."""

    def change(trial: Trial) -> Trial:
        if trial.block >= blocks or trial.factors["group"] != group:
            return trial
        return replace(trial, status="failed", runs={}, reason=Reason("died", "the server died"))

    return change


def test_a_run_that_cannot_tell_what_to_deploy_has_no_answer() -> None:
    whole = contents(blocks=5, change=failing("X25519", 1))
    assert answer(summarise(whole)).sentences[0].startswith("P-384 is the fastest")
    summary = forbidden(whole, "P-384")
    assert answer(summary).sentences == ()
    assert answer(summary).lacking is not None
    assert summary.recommendation is not None
    assert summary.recommendation["servers"][0]["verdict"] == "too_few"


def test_leaders_of_other_settings_are_not_named_where_policies_object_to_one() -> None:
    """The first sentence names no setting with an objection; nor may the second."""
    levels = {**LEVELS, "key": ("ecdsa-p256", "rsa-2048"), "group": ("X25519", "P-384")}
    experiment = replace(with_levels(TEN_BLOCKS, levels), blocks=10)

    def cost_us(cell: Mapping[str, str]) -> float:
        cheap = "P-384" if cell["key"] == "rsa-2048" else "X25519"
        return 200.0 if cell["group"] == cheap else 300.0

    world = World(cost_us=cost_us, client_us={**CLIENT_US, "P-384": 100.0, "X25519": 100.0})
    whole = made_run(world, experiment=experiment)
    plain, summary = summarise(whole), forbidden(whole, "P-384")
    assert answer(plain).sentences[1] == "Elsewhere another leads: P-384 with TLS 1.3, RSA-2048."
    assert answer(summary).sentences == answer(plain).sentences[:1]
