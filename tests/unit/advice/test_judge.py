"""Grades of a server's offer."""

from datetime import date
from typing import Any

import pytest

from factories.offered import chain, listed, offered, silent
from tlslab.advice.judge import fails_everyone, judge, things
from tlslab.advice.offer import lacks, offer_doubt
from tlslab.cli.grade import _verdict
from tlslab.contract.probe import ProbeRecord
from tlslab.domain.grading import GradeFinding, Grading
from tlslab.lab.store import from_json, to_json
from tlslab.words.grade import headline

TODAY = date(2026, 11, 24)


def graded(day: date = TODAY, **more: Any) -> Grading:
    return judge(offered(**more), day)


def grades(grading: Grading, name: str) -> dict[str, str]:
    found = next(found for found in grading.found if found.name == name)
    return {said.policy: said.grade for said in found.judgements}


def traits(**more: Any) -> set[str]:
    return {name for topic, name in things(offered(**more)) if topic == "trait"}


def test_a_good_server_passes_what_is_for_every_server() -> None:
    grading = graded()
    assert fails_everyone(grading) == ()
    passing = {verdict.policy for verdict in grading.verdicts if verdict.passes}
    assert {"rfc9325", "rfc10015", "rfc9113", "iana", "mozilla-intermediate"} <= passing
    assert "cnsa2" not in passing
    assert "mozilla-modern" not in passing  # the server has TLS 1.2
    assert grades(grading, "X25519") == {
        "rfc9325": "recommended",
        "iana": "recommended",
        "mozilla-intermediate": "recommended",
        "mozilla-modern": "recommended",
        "cnsa2": "forbidden",
    }


def test_a_version_is_missing_only_if_the_server_refuses_it() -> None:
    assert "TLS 1.3 is missing" in traits(spoken=("1.2",))
    assert "TLS 1.3 is missing" not in traits(spoken=("1.2",), unknown=("1.3",))
    assert "TLS 1.2 is missing" in traits(spoken=("1.3",))
    assert "TLS 1.2 is missing" not in traits(spoken=("1.3",), unknown=("1.2",))
    assert not {name for name in traits(versions=[]) if "is missing" in name}


def test_a_staple_is_missing_only_if_all_certificates_are_known() -> None:
    staple = "no stapled OCSP response"
    assert staple in traits()
    assert staple in traits(unanswered=[silent("alpn", "ALPN h2 in TLS 1.3")])
    for topic, question in (("versions", "TLS 1.2"), ("certificates", "certificate for x")):
        assert staple not in traits(unanswered=[silent(topic, question)])
    assert staple not in traits(incomplete="the limit of 20 connections was reached")


def test_records_of_earlier_probes_have_no_open_questions() -> None:
    """Their records have no list of them, and `accepted` is never null."""
    old = offered()
    assert (old.unanswered, offer_doubt(old)) == ((), None)
    assert not lacks(old, "1.2")
    new = offered(unknown=("1.2",), unanswered=[silent("versions", "TLS 1.2")])
    assert new.unanswered[0].refusal.class_ == "timeout_handshake"
    assert [found.accepted for found in new.versions] == [True, None, False, False, False, False]
    assert from_json(to_json(new), ProbeRecord) == new


def test_old_versions_and_suites_fail() -> None:
    grading = graded(
        spoken=("1.2", "1.0"),
        suites=[
            listed(
                "1.2", ("TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_DHE_RSA_WITH_AES_128_CBC_SHA@DH-1024")
            ),
            listed("1.0", ("TLS_RSA_WITH_RC4_128_SHA",)),
        ],
        certificates=[chain("RSA-1024", "1.2", "1.0", days=1200)],
    )
    assert fails_everyone(grading) == ("RFC 9325", "RFC 10015", "RFC 9113 (HTTP/2)")
    assert grades(grading, "1.0")["rfc9325"] == "forbidden"
    assert grades(grading, "1.0")["bsi-tr-02102-2"] == "discouraged"
    assert grades(grading, "TLS_RSA_WITH_AES_128_CBC_SHA")["rfc10015"] == "forbidden"
    assert grades(grading, "TLS_RSA_WITH_RC4_128_SHA")["rfc9325"] == "forbidden"
    assert grades(grading, "DH-1024")["rfc9325"] == "forbidden"
    assert grades(grading, "RSA-1024")["mozilla-intermediate"] == "forbidden"
    assert grades(grading, "1200 days")["nist-800-52r2"] == "discouraged"
    assert grades(grading, "TLS 1.3 is missing")["nist-800-52r2"] == "forbidden"


def test_every_judgement_has_its_place() -> None:
    for found in graded().found:
        for said in found.judgements:
            assert said.section
            assert said.reason


@pytest.mark.parametrize(
    ("more", "trait"),
    [
        ({"spoken": ("1.2",)}, "TLS 1.3 is missing"),
        ({"spoken": ("1.3",)}, "TLS 1.2 is missing"),
        ({"compression": {"records": ["DEFLATE"]}}, "records are compressed"),
        ({"renegotiation": {"secure": False}}, "renegotiation is not secure"),
        (
            {"renegotiation": {"secure": True, "client_initiated": True}},
            "clients may renegotiate",
        ),
        ({"protections": {"extended_master_secret": False}}, "no extended master secret"),
        ({"protections": {"fallback_scsv": False}}, "no fallback SCSV"),
        (
            {"protections": {"fallback_scsv": False}, "spoken": ("1.2", "1.1")},
            "no fallback SCSV with old versions and without TLS 1.3",
        ),
        (
            {
                "protections": {"encrypt_then_mac": False},
                "suites": [listed("1.2", ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",))],
            },
            "CBC without encrypt-then-MAC",
        ),
        ({"resumption": {"max_early_data_bytes": 16384}}, "early data"),
        ({"resumption": {"psk_ke": True}}, "PSK without a key exchange"),
    ],
)
def test_each_trait_is_graded(more: dict[str, Any], trait: str) -> None:
    assert trait in traits(**more)
    assert trait not in traits()
    assert grades(graded(**more), trait)


def test_an_unprobed_protection_is_no_trait() -> None:
    more: dict[str, Any] = dict.fromkeys(
        ("compression", "renegotiation", "protections", "resumption")
    )
    assert traits(**more, certificates=[]) == set()
    assert traits(protections={"encrypt_then_mac": False}) == {"no stapled OCSP response"}
    staple = chain("ECDSA P-256", "1.3", staple={"status": "successful"})
    assert traits(certificates=[staple]) == set()


def test_early_data_that_is_refused_is_none() -> None:
    refused = {"max_early_data_bytes": 16384, "early_data_accepted": False}
    assert "early data" not in traits(resumption=refused)


def test_the_policy_for_http_2_is_for_servers_that_select_it() -> None:
    assert "rfc9113" in {source.name for source in graded().policies}
    for alpn in ({"accepted": ["http/1.1"]}, None):
        assert "rfc9113" not in {source.name for source in graded(alpn=alpn).policies}


def test_disagreements_and_what_will_change() -> None:
    grading = graded()
    key = next(found for found in grading.found if found.name == "ECDSA P-256")
    assert key.disputed
    version = next(found for found in grading.found if found.name == "1.3")
    assert not version.disputed
    assert not GradeFinding("version", "x", ()).disputed
    steps = {
        (said.policy, step.since, step.grade)
        for found in grading.found
        for said in found.judgements
        for step in said.later
    }
    assert ("nist-ir8547", "2036-01-01", "forbidden") in steps
    then = graded(date(2036, 1, 1))
    assert grades(then, "P-256")["nist-ir8547"] == "forbidden"
    assert not then.verdict("nist-ir8547").passes


def test_faults_of_certificates_are_notes() -> None:
    notes = graded(certificates=[chain("ECDSA P-256", "1.3", problem="unknown issuer")]).notes
    assert notes == ("certificate with ECDSA P-256: unknown issuer",)
    assert graded().notes == ()
    staple = chain("ECDSA P-256", "1.3", must_staple=True)
    assert "must-staple" in graded(certificates=[staple]).notes[0]
    stapled = {**staple, "staple": {"status": "successful"}}
    assert graded(certificates=[stapled]).notes == ()
    composite = "is composite: whoever knows its factors can break the key exchange"
    assert graded(dh_prime=composite).notes[0].endswith(f"parameters {composite}")
    assert "asks for a client certificate" in graded(client_certificate=True).notes[0]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"problem": "certificate has expired"}, "certificate has expired"),
        ({"trusted": True, "name_matches": False}, "it is not for the name asked for"),
    ],
)
def test_no_client_connects_to_a_server_whose_certificate_is_refused(
    fault: dict[str, Any], reason: str
) -> None:
    grading = graded(certificates=[chain("ECDSA P-256", "1.3", "1.2", **fault)])
    assert not any(client.connects for client in grading.clients)
    assert grading.shut_out == f"the client refuses the certificate: {reason}"
    assert headline(grading).startswith("No known client connects to localhost:8443 (simulated): ")
    assert _verdict(grading, ())[1] == 1
    assert _verdict(grading, ("rfc9325",))[1] == 1


def test_a_certificate_counts_only_if_it_was_checked_and_not_by_another_day() -> None:
    later = graded(date(2028, 1, 1))
    assert later.shut_out is None
    assert "expired on this day" in later.notes[0]
    unchecked = chain("ECDSA P-256", "1.3", "1.2", name_matches=False)
    assert graded(certificates=[unchecked]).shut_out is None
    # One good chain is enough for some.
    chains = [chain("ECDSA P-256", "1.3"), chain("RSA-2048", "1.2", problem="has expired")]
    assert graded(certificates=chains).shut_out is None


def test_a_day_long_after_the_policies_were_looked_up_has_a_note() -> None:
    words = "the policies were last held against their sources on"
    assert not any(note.startswith(words) for note in graded().notes)
    assert sum(note.startswith(words) for note in graded(day=date(2100, 1, 1)).notes) == 1
