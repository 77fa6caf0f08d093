"""Which of two settings is safer: by grades, hybrids, recommending policies, bits."""

from tlslab.advice.policy import policies_named
from tlslab.advice.setting_grade import grade_group, grade_suite
from tlslab.advice.strength import in_order, is_pq_hybrid, ranks
from tlslab.domain.names import GROUPS, SUITES


def test_hybrids_are_before_all_others_and_worse_grades_behind() -> None:
    names = ["P-521", "X448", "P-384", "P-256", "X25519", "X25519MLKEM768"]
    found = [each.name for each in in_order([grade_group(name) for name in names])]
    assert found == ["X25519MLKEM768", "P-256", "X25519", "P-384", "X448", "P-521"]
    assert ranks([grade_group("X25519"), grade_group("P-256")]) == [0, 0]


def test_suites_go_by_the_policies_then_by_the_cipher() -> None:
    ecdhe = "TLS_ECDHE_RSA_WITH_"
    names = [f"{ecdhe}{cipher}" for cipher in ("AES_128_GCM_SHA256", "AES_256_GCM_SHA384")]
    cbc = "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"
    found = in_order([grade_suite(name) for name in (cbc, *names)])
    assert [each.name for each in found] == [names[1], names[0], cbc]


def test_a_kem_alone_is_no_hybrid() -> None:
    assert is_pq_hybrid("X25519MLKEM768")
    assert not is_pq_hybrid("MLKEM768")
    assert not is_pq_hybrid("X25519")


def test_everything_has_a_strength() -> None:
    assert ranks([grade_group(group.name) for group in GROUPS])
    assert ranks([grade_suite(suite.name) for suite in SUITES])


def test_policies_can_be_chosen() -> None:
    (only,) = policies_named(["rfc9325"])
    assert grade_group("P-384").passes
    assert not grade_group("P-384", [only]).passes
    assert len(policies_named([])) > 1
