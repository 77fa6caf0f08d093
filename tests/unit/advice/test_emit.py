"""Configurations: every recommended setting in its order, and none to which a policy objects."""

import re
from dataclasses import replace

import pytest

from tlslab.advice.emit import FORMS, Offer, Preference, offer_of
from tlslab.advice.policy import policies, policies_named
from tlslab.advice.setting_grade import Subject, grade_suite, unmeasured_groups, unmeasured_suites

GROUPS = ("P-384", "X25519MLKEM768", "X25519")
SUITES = ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")
HOSTILE = "x --> <Evil/> */ \n directive on;\r\u2028 module.exports = 1 \x1b[2J -- end"


def preference(subject: Subject, server: str = "nginx", names: tuple[str, ...] = ()) -> Preference:
    return Preference(subject, server, names or (SUITES if subject == "suite" else GROUPS))


def offer(subject: Subject, server: str = "nginx", measured: str = "nginx") -> Offer:
    return offer_of(preference(subject, measured), policies(), server)


def text(server: str, given: Offer) -> str:
    found = FORMS[server].text(given, ())
    assert found is not None
    return found


def lines(server: str, given: Offer) -> list[str]:
    """The lines that are not comments."""
    mark = FORMS[server].mark
    return [line for line in text(server, given).splitlines() if not line.startswith(mark)]


SUITES_12 = "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256"


@pytest.mark.parametrize(
    ("server", "line"),
    [
        ("nginx", f"ssl_ciphers {SUITES_12};"),
        ("apache", f"SSLCipherSuite {SUITES_12}"),
        ("haproxy", f"    ssl-default-bind-ciphers {SUITES_12}"),
        ("openssl", f"CipherString = {SUITES_12}"),
        ("node", f"    '{SUITES_12.replace(':', chr(39) + ',' + chr(10) + '    ' + chr(39))}',"),
        ("tomcat", f'                 ciphers="{SUITES_12}"'),
        ("rwserve", f"        {SUITES_12.replace(':', chr(10) + '        ')}"),
    ],
)
def test_suites_stand_in_their_order(server: str, line: str) -> None:
    assert f"\n{line}\n" in "\n" + text(server, offer("suite"))


def test_unmeasured_factors_are_offered_as_policies_allow_the_safest_first() -> None:
    found = offer("group")
    assert [suite.name for suite in found.suites12] == list(unmeasured_suites("1.2", policies()))
    assert all(grade_suite(suite.name, "2").passes for suite in (*found.suites12, *found.suites13))
    assert found.beside.startswith("suites of TLS 1.2 and suites of TLS 1.3, which this run ")
    groups = offer("suite").groups
    assert [g.name for g in groups] == [
        n for n in unmeasured_groups(policies()) if "MLKEM" not in n
    ]


def test_hybrids_wait_where_the_server_was_not_seen_to_do_them() -> None:
    seen, unseen = offer("group"), offer("group", measured="reference")
    assert [group.name for group in seen.groups] == list(GROUPS)
    assert ([g.name for g in unseen.groups], [g.name for g in unseen.waiting]) == (
        ["P-384", "X25519"],
        ["X25519MLKEM768"],
    )
    assert "\nssl_ecdh_curve secp384r1:X25519;\n# With" in "\n" + text("nginx", unseen)
    for server in ("nginx", "tomcat", "jvm"):
        assert re.search("secp384r1[:,]X25519MLKEM768[:,]x25519", text(server, unseen), re.I)


def test_hybrids_that_were_not_measured_say_why_they_come_first() -> None:
    words = " ".join(text("nginx", offer("suite")).replace("#", " ").split())
    assert (
        "With OpenSSL 3.5 or later, hybrids first, as the policies' safest; their cost was not "
        "measured in this run: ssl_ecdh_curve X25519MLKEM768:"
    ) in words


def test_hybrids_alone_do_not_wait_and_end_tls_1_2() -> None:
    alone = preference("group", "reference", ("X25519MLKEM768",))
    found = offer_of(alone, policies(), "nginx")
    assert ([g.name for g in found.groups], found.waiting) == (["X25519MLKEM768"], ())
    assert found.versions == ("1.3",)
    assert "ssl_protocols TLSv1.3;" in text("nginx", found)
    assert "ssl_ciphers" not in text("nginx", found)


def test_a_policy_alone_may_leave_tls_1_3_without_suites() -> None:
    only = policies_named(["rfc9325"])
    found = offer_of(preference("group"), only, "nginx")
    assert found.versions == ("1.2",)
    assert len(found.suites12) == 4


@pytest.mark.parametrize("subject", ["suite", "group"])
@pytest.mark.parametrize("server", list(FORMS))
def test_each_server_has_a_file_or_no_such_setting(server: str, subject: Subject) -> None:
    found = FORMS[server].text(offer(subject, server, server), ("a sentence",))
    none = {("rwserve", "group"), ("domino", "suite")}
    assert (found is None) == ((server, subject) in none)
    if found is not None:
        assert "a sentence" in found.splitlines()[0]
        assert "CBC" not in found


@pytest.mark.parametrize("server", [name for name in FORMS if name != "domino"])
def test_no_sentence_can_leave_its_comment(server: str) -> None:
    form, given = FORMS[server], offer("suite", server)
    plain, hostile = form.text(given, ()), form.text(given, (HOSTILE,))
    assert plain is not None
    assert hostile is not None
    assert hostile.endswith(plain)
    head = hostile.removesuffix(plain).splitlines()
    assert all(line.startswith(form.mark) for line in head)
    if form.mark == "<!--":
        assert all(line.count("--") == 2 and line.endswith("-->") for line in head)


def test_caddy_says_what_go_does_not_have() -> None:
    names = ("X448", "P-384")
    found = offer_of(preference("group", "nginx", names), policies(), "caddy")
    assert "\ncurves secp384r1\n" in text("caddy", found)
    assert "Go does not have: X448." in text("caddy", found)
    less = replace(found, suites13=found.suites13[:2])
    assert "and has no setting for it" in text("caddy", less)


def test_the_jvm_gets_hybrids_at_once() -> None:
    found = offer("group", "jvm", "reference")
    assert "-Djdk.tls.namedGroups=secp384r1,X25519MLKEM768,x25519\n" in text("jvm", found)


def domino(*names: str, **given: object) -> list[str]:
    asked = replace(preference("group", "domino", names), **given)  # type: ignore[arg-type]
    return lines("domino", offer_of(asked, policies(), "domino"))


def off(*names: str) -> list[str]:
    return [f"SSL_DISABLE_CURVE_{name}=1" for name in names]


def test_domino_switches_off_what_is_slower() -> None:
    assert domino("X25519", "P-256", "X448", "P-384", "P-521") == off("X448", "P384", "P521")


def test_domino_needs_the_faster_ones_of_its_own_order_off() -> None:
    assert domino("X448", "X25519", "P-256") == off("X25519", "P256", "P384", "P521")


def test_domino_keeps_what_cannot_be_distinguished_from_the_best() -> None:
    equals = frozenset({"P-256", "X25519"})
    kept = domino("P-256", "X25519", "P-384", equals=equals, left_open="they may differ by 4 %")
    assert kept == off("X448", "P384", "P521")


def test_domino_has_no_hybrids() -> None:
    alone = offer_of(preference("group", "domino", ("X25519MLKEM768",)), policies(), "domino")
    assert FORMS["domino"].text(alone, ()) is None
