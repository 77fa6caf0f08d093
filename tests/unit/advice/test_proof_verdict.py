"""The effect of clients and policies on a proof, and how they overrule the measurements."""

import re
from dataclasses import replace
from typing import Any

import pytest

from factories.offered import offered, silent
from factories.proof import made_sides
from tlslab.advice import proof_verdict
from tlslab.analysis.proof.deciding_ratios import figures, verdict_of
from tlslab.contract.probe import ProbeRecord
from tlslab.contract.record import Facts
from tlslab.domain.finding import Answer, ExperimentSummary, Lacking, Summary
from tlslab.domain.proof import Proof, SeenTls
from tlslab.domain.proof_settings import ProofSettings
from tlslab.domain.run import Environment, TargetInfo
from tlslab.words import worded

FACTS = Facts("1.3", "TLS_AES_128_GCM_SHA256", "X25519", "ecdsa_secp256r1_sha256", "full", False)
TARGET = TargetInfo("nginx", True, "nginx", "OpenSSL", (0,), "127.0.0.1", "/")


def summary(
    before: ProbeRecord, after: ProbeRecord, may_lose: tuple[str, ...] = (), **sides: Any
) -> Summary:
    """A proof with measurements alone."""
    settings = ProofSettings("nginx", "Chromium 156", 0.05, 0.5, (), may_lose)
    found = figures(made_sides(**sides), 0.05)
    environment = Environment(
        created="2026-11-24T10:00:00Z",
        tlslab="0.1.0",
        command=("tlslab", "prove"),
        target=TARGET,
        generator_processors=(1,),
        machine={},
        versions={},
        found=tuple(
            SeenTls(name, offer, FACTS, "psk", "rustls")
            for name, offer in (("baseline", before), ("candidate", after))
        ),
    )
    return Summary(
        experiment=ExperimentSummary("prove", "Should it?", "nginx", 1, 10, 4, {}, {}, {}, "proof"),
        environment=environment,
        cells=(),
        excluded=(),
        comparisons=(),
        findings=(),
        answer=Answer("Should it?", ("by the measurements",), "10 blocks"),
        method=("by turns",),
        proof=Proof(settings, found, verdict_of(found)),
    )


def proved(measured: Summary) -> Summary:
    """The proof with clients, policies and sentences."""
    return worded(proof_verdict.proved(measured))


GOOD = offered()
# Of all known clients only those with TLS 1.3 remain.
NEW_ONLY = offered(spoken=("1.3",))


def verdict(found: Summary) -> str:
    assert found.proof is not None
    return found.proof.verdict


def test_equal_offers_lose_nobody() -> None:
    found = proved(summary(GOOD, GOOD, new=(5000.0, 500.0)))
    assert verdict(found) == "deploy"
    assert found.answer is not None
    assert found.answer.sentences[0].startswith("Deploy the candidate: it has")
    assert found.answer.sentences[-1].endswith("the same ones.")


def test_a_lost_client_overrules_a_gain_as_a_trade_off_and_is_named() -> None:
    found = proved(summary(GOOD, NEW_ONLY, new=(5000.0, 500.0)))
    assert verdict(found) == "do_not"
    assert found.proof is not None
    assert found.proof.trade_off
    assert found.answer is not None
    first, second = found.answer.sentences
    assert re.match(r"A trade-off: it has \d\.\d+ times as many connections/s \(95 %", first)
    assert re.search(r"; it loses .* \(`--may-lose` accepts that\)\.$", first)
    assert re.match(r"New clients: \d+\.?\d* times as many connections/s .*; returning cl", second)
    assert "lost: " in second


def test_a_saved_round_trip_is_weighed_against_a_loss_and_was_not_measured() -> None:
    """From TLS 1.2 to 1.3: dearer on a server whose clients are on the same machine."""
    plain = summary(GOOD, GOOD, new=(500.0, 875.0), returning=(200.0, 350.0))
    first, second = plain.environment.found
    old = replace(first, facts=replace(FACTS, tls="1.2"), resume="ticket")
    found = proved(replace(plain, environment=replace(plain.environment, found=(old, second))))
    assert found.proof is not None
    assert (found.proof.verdict, found.proof.trade_off) == ("do_not", True)
    assert found.answer is not None
    assert found.answer.sentences[0].startswith("A trade-off: it has 0.57")
    assert found.answer.sentences[0].endswith(
        "; but 1 round trip instead of 2 for new clients, which was not measured."
    )
    seen = found.answer.sentences[1]
    assert re.search(r"New clients: 0\.5\d+ times .*, 1 round trip instead of 2; returning ", seen)
    assert (
        ", 1 round trip as before. Not measured: the cost of a round trip (server and clients "
        "share a machine). Of "
    ) in seen
    same = proved(plain)
    assert same.proof is not None
    assert not same.proof.trade_off
    assert same.answer is not None
    assert same.answer.sentences[0].startswith("Do not deploy the candidate: it has 0.57")


def test_clients_that_may_stay_away_overrule_nothing() -> None:
    first = proved(summary(GOOD, NEW_ONLY))
    assert first.proof is not None
    lost = tuple(each.client for each in first.proof.clients if each.lost)
    assert lost
    found = proved(summary(GOOD, NEW_ONLY, lost, new=(5000.0, 500.0)))
    assert verdict(found) == "deploy"


def test_clients_that_only_forbidden_things_let_in_are_not_missed() -> None:
    """RFC 8996 forbids TLS 1.0 and 1.1 on every server."""
    old = offered(spoken=("1.3", "1.2", "1.0"))
    with_old = proved(summary(old, GOOD))
    assert with_old.proof is not None
    lost = [each for each in with_old.proof.clients if each.lost]
    assert all(not each.wanted and "forbids" in each.excused for each in lost)
    assert verdict(with_old) == "no_difference"


def test_an_offer_that_a_policy_forbids_overrules_a_gain() -> None:
    old = offered(spoken=("1.3", "1.2", "1.0"))
    found = proved(summary(GOOD, old, new=(5000.0, 500.0)))
    assert verdict(found) == "do_not"
    assert found.proof is not None
    assert any("it offers what " in reason for reason in found.proof.reasons)
    assert found.answer is not None
    assert found.answer.sentences[0].startswith("Do not deploy the candidate: it has")


def test_an_offer_that_is_newly_forbidden_is_objected_to() -> None:
    """Both offer a forbidden setting, TLS 1.0; the candidate offers a further one."""
    first = offered(spoken=("1.3", "1.2", "1.0"))
    second = offered(spoken=("1.3", "1.2", "1.1", "1.0"))
    found = proved(summary(first, second, new=(5000.0, 500.0)))
    assert verdict(found) == "do_not"
    assert found.proof is not None
    assert any(reason.endswith("forbids: 1.1") for reason in found.proof.reasons)
    assert verdict(proved(summary(second, first, new=(5000.0, 500.0)))) == "deploy"


def test_every_measure_with_an_established_loss_is_named() -> None:
    found = proved(summary(GOOD, GOOD, new=(500.0, 600.0), returning=(900.0, 300.0), share=0.7))
    assert verdict(found) == "deploy"
    assert found.answer is not None
    _, _, but = found.answer.sentences[0].partition("; but ")
    assert "connections/s of new clients" in but
    assert "handshake time (p99)" in but


@pytest.mark.parametrize("new", [(5000.0, 500.0), (500.0, 5000.0)])
def test_with_fewer_than_five_blocks_a_lost_client_is_all_that_is_said(
    new: tuple[float, float],
) -> None:
    found = proved(summary(GOOD, NEW_ONLY, new=new, blocks=4))
    assert verdict(found) == "do_not"
    assert found.answer is not None
    assert "it loses " in found.answer.sentences[0]
    assert "times" not in " ".join(found.answer.sentences)


def test_a_short_run_says_nothing_of_speed_but_names_lost_clients() -> None:
    few = summary(GOOD, NEW_ONLY)
    assert few.answer is not None
    few = replace(few, answer=replace(few.answer, sentences=(), lacking=Lacking("few", few=True)))
    found = proved(few)
    assert found.answer is not None
    assert found.answer.lacking is None
    assert "it loses " in found.answer.sentences[0]


# The server did not answer when it was asked for TLS 1.2.
OPEN = {
    "spoken": ("1.3",),
    "unknown": ("1.2",),
    "unanswered": [silent("versions", "TLS 1.2")],
}
ENDED = {"spoken": ("1.3",), "incomplete": "the limit of 20 connections was reached"}


# The offer of HTTP/2 ended the handshake.
NO_H2 = {
    "alpn": {
        "accepted": ["http/1.1"],
        "failed": [
            {"name": "h2", "refusal": {"class": "closed_handshake", "words": "closed it"}},
        ],
    }
}


@pytest.mark.parametrize("more", [OPEN, ENDED, NO_H2])
def test_an_offer_that_is_not_wholly_known_loses_nobody_and_is_not_deployed(more: Any) -> None:
    for before, after, side in (
        (GOOD, offered(**more), "candidate"),
        (offered(**more), GOOD, "baseline"),
    ):
        found = proved(summary(before, after, new=(5000.0, 500.0)))
        assert found.proof is not None
        assert found.answer is not None
        assert (found.proof.verdict, found.proof.reasons) == ("cannot_tell", ())
        assert (found.proof.clients, found.tables) == ((), ())
        first, second = found.answer.sentences
        assert first.startswith(f"Cannot tell: the offer of the {side} is not wholly known: ")
        assert second.startswith("By the measurements alone: Deploy the candidate: it has")
        finding = found.findings[-1]
        assert finding.code == "not_known"
        assert "clients and policies are not compared" in finding.text


def test_a_loss_speaks_against_a_candidate_whatever_is_not_known() -> None:
    found = proved(summary(GOOD, offered(**OPEN), new=(500.0, 5000.0)))
    assert found.answer is not None
    assert verdict(found) == "do_not"
    assert found.answer.sentences[0].startswith("Do not deploy the candidate: it has")
    assert found.answer.sentences[1].startswith("The offer of the candidate is not wholly known")


def test_the_same_silence_of_both_servers_makes_no_difference() -> None:
    one = offered(unanswered=[silent("versions", "SSL 2.0")])
    found = proved(summary(one, one, new=(5000.0, 500.0)))
    assert verdict(found) == "deploy"
    assert found.proof is not None
    assert found.proof.clients


def test_other_summaries_stay_as_they_are() -> None:
    plain = replace(summary(GOOD, GOOD), proof=None)
    assert proof_verdict.proved(plain) is plain


@pytest.mark.parametrize("after", [GOOD, NEW_ONLY])
def test_clients_and_policies_are_tables(after: ProbeRecord) -> None:
    tables = {table.id: table for table in proved(summary(GOOD, after)).tables}
    assert set(tables) == {"clients", "policies"}
    assert all(len(row) == len(t.columns) for t in tables.values() for row in t.rows)
