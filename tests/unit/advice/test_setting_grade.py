"""Grades by policies, and which of two settings is safer: hybrids, policies, bits."""

import fnmatch

import pytest

from tlslab.advice.policy import GRADES, policies, policies_named, read_policy
from tlslab.advice.setting_grade import grade_group, grade_suite, is_pq_hybrid, ranks, strength
from tlslab.domain.names import GROUPS, OBSOLETE_SUITES, SUITES


def test_every_policy_has_a_date_and_a_source() -> None:
    for policy in policies():
        assert policy.source.startswith("https://")
        assert policy.date >= "2022"
        assert policy.rules["suite"]


def test_every_pattern_speaks_of_something() -> None:
    suites = [suite.name for suite in SUITES] + list(OBSOLETE_SUITES)
    groups = [group.name for group in GROUPS]
    # No client or server here has these.
    beyond = (
        *("*_WITH_NULL_*", "*_EXPORT_*", "*_WITH_DES_*", "TLS_DH_*", "TLS_ECDH_*"),
        *("TLS_DH_RSA_*", "TLS_DH_DSS_*", "TLS_ECDH_RSA_*", "TLS_ECDH_ECDSA_*"),
    )
    for policy in policies():
        for rules, names in ((policy.rules["suite"], suites), (policy.rules["group"], groups)):
            for pattern in [pattern for rule in rules for pattern in rule.names]:
                assert pattern in beyond or fnmatch.filter(names, pattern), (policy.name, pattern)


@pytest.mark.parametrize(
    ("suite", "grade"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "recommended"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "recommended"),
        ("TLS_AES_128_GCM_SHA256", "recommended"),
        ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "discouraged"),
        ("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", "forbidden"),
        ("TLS_RSA_WITH_AES_256_CCM", "forbidden"),
        ("TLS_RSA_WITH_RC4_128_MD5", "forbidden"),
    ],
)
def test_the_worst_opinion_counts(suite: str, grade: str) -> None:
    graded = grade_suite(suite)
    assert graded.grade == grade
    assert graded.passes == (grade == "recommended")
    assert bool(graded.against) != graded.passes


def test_small_diffie_hellman_parameters_are_forbidden_by_those_who_name_a_size() -> None:
    suite = "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"
    by = {o.policy.name: o.grade for o in grade_suite(suite, dh_bits=1024).opinions}
    assert by["rfc9325"] == by["mozilla-intermediate"] == "forbidden"
    by = {o.policy.name: o.grade for o in grade_suite(suite, dh_bits=2048).opinions}
    assert by["rfc9325"] == "discouraged"


def test_appendix_a_speaks_of_http_2_only() -> None:
    suite = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"
    assert "rfc9113" in {o.policy.name for o in grade_suite(suite, "2").opinions}
    assert "rfc9113" not in {o.policy.name for o in grade_suite(suite, "1.1").opinions}
    good = "TLS_DHE_RSA_WITH_AES_128_CCM"
    assert "rfc9113" not in {o.policy.name for o in grade_suite(good, "2").opinions}


def test_one_objection_among_other_opinions_counts() -> None:
    graded = grade_suite("TLS_ECDHE_ECDSA_WITH_AES_128_CCM")
    assert 0 < len(graded.objections) < len(graded.opinions)
    assert "Mozilla" in graded.against


def test_a_group_that_no_policy_knows_is_not_recommended() -> None:
    graded = grade_group("ffdhe4096")
    assert graded.grade is None
    assert not graded.passes
    assert graded.against == "no policy speaks of it"


@pytest.mark.parametrize("group", ["X25519", "P-256", "P-384", "X448", "P-521", "X25519MLKEM768"])
def test_the_groups_of_study_d_may_be_recommended(group: str) -> None:
    assert grade_group(group).passes


def test_a_policy_with_an_unknown_grade_is_refused() -> None:
    data = {
        "schema": "tlslab.policy/2",
        "name": "x",
        "title": "x",
        "short": "x",
        "date": "2026",
        "as_of": "2026-11-24",
        "basis": "text",
        "source": "https://example.com",
        "for": "nobody",
        "suite": [{"names": ["*"], "grade": "fine", "section": "1", "reason": ""}],
    }
    with pytest.raises(ValueError, match=", ".join(GRADES)):
        read_policy(data)
    with pytest.raises(ValueError, match="schema"):
        read_policy({**data, "schema": "other"})


def test_hybrids_are_before_all_others_and_worse_grades_behind() -> None:
    names = ["P-521", "X448", "P-384", "P-256", "X25519", "X25519MLKEM768"]
    ordered = sorted(map(grade_group, names), key=strength)
    assert [graded.name for graded in ordered] == [
        "X25519MLKEM768", "P-256", "X25519", "P-384", "X448", "P-521"
    ]  # fmt: skip
    assert ranks([grade_group("X25519"), grade_group("P-256")]) == [0, 0]


def test_suites_go_by_the_policies_then_by_the_cipher() -> None:
    aes128, aes256, cbc = (
        f"TLS_ECDHE_RSA_WITH_{cipher}"
        for cipher in ("AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "AES_256_CBC_SHA")
    )
    ordered = sorted(map(grade_suite, (cbc, aes128, aes256)), key=strength)
    assert [graded.name for graded in ordered] == [aes256, aes128, cbc]


def test_a_kem_alone_is_no_hybrid() -> None:
    assert is_pq_hybrid("X25519MLKEM768")
    assert not is_pq_hybrid("MLKEM768")
    assert not is_pq_hybrid("X25519")


def test_a_setting_that_the_only_policy_does_not_mention_may_not_be_recommended() -> None:
    (only,) = policies_named(["rfc9325"])
    assert grade_group("P-384").passes
    assert not grade_group("P-384", [only]).passes
