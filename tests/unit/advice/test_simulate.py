"""Which clients connect, based on the result of a probe."""

from typing import Any

import pytest

from factories.offered import chain, listed, offered
from tlslab.advice.simulate import Client, clients, read_clients, simulate
from tlslab.domain.grading import Outcome

RSA_SUITES = ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384")


def client(name: str) -> Client:
    return next(each for each in clients() if each.name == name)


def outcome(name: str, **more: Any) -> Outcome:
    return simulate(offered(**more), client(name))


def rsa(**more: Any) -> dict[str, Any]:
    """A server with an RSA key and TLS 1.2."""
    return {
        "spoken": ("1.2",),
        "suites": [listed("1.2", RSA_SUITES)],
        "signature_schemes": [listed("1.2", ("rsa_pkcs1_sha256",))],
        "certificates": [chain("RSA-2048", "1.2")],
        **more,
    }


def test_the_clients_are_known_by_name_and_source() -> None:
    names = [each.name for each in clients()]
    assert len(names) == len(set(names)) >= 30
    for each in clients():
        assert 2000 < each.released < 2027
        assert each.suites
        assert "testssl.sh" in each.source or "recorded" in each.source
        assert (each.schemes is not None) == (each.versions[0] in ("1.2", "1.3"))
        assert bool(each.shares) == ("1.3" in each.versions)
        assert set(each.shares) <= set(each.groups or ())
        assert 0x00FF not in each.suites


def test_a_new_client_gets_what_is_best() -> None:
    found = outcome("Chromium 156")
    assert found.connects
    assert (found.version, found.suite) == ("1.3", "TLS_AES_128_GCM_SHA256")
    assert (found.group, found.key, found.alpn) == ("X25519MLKEM768", "ECDSA P-256", "h2")
    assert found.notes == ()


def test_the_order_of_the_server_decides_where_it_does() -> None:
    names = ("TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256")
    for order, suite in (("server", names[0]), ("client", names[1]), ("mixed", names[1])):
        found = outcome("Chrome 101", suites=[listed("1.3", names, order)])
        assert found.suite == suite


def test_no_version_in_common() -> None:
    found = outcome("IE 8, Windows XP")
    assert not found.connects
    assert found.reason == "no version in common: the client has SSL 3.0 to TLS 1.0"
    found = outcome("IE 6, Windows XP")
    assert found.reason == "no version in common: the client has SSL 3.0"


def test_no_suite_in_common() -> None:
    found = outcome("Chrome 49, Windows XP", suites=[listed("1.2", ())])
    assert found.reason == "no cipher suite in common in TLS 1.2"


def test_no_group_in_common() -> None:
    groups = [listed("1.3", ("X448",)), listed("1.2", ("X448",))]
    assert outcome("Chrome 101", groups=groups).reason == "no key-exchange group in common"
    found = outcome("IE 11, Windows 10", groups=groups)
    assert found.reason == "no key-exchange group in common"


def test_a_group_without_a_key_share_takes_another_round() -> None:
    found = outcome("Chrome 101", groups=[listed("1.3", ("P-384",))])
    assert found.connects
    assert found.group == "P-384"
    assert found.notes == ("HelloRetryRequest",)


def test_a_key_that_the_client_cannot_verify() -> None:
    found = outcome("Chrome 101", certificates=[chain("Ed25519", "1.3")], signature_schemes=[])
    assert found.reason == "the client cannot use a certificate with Ed25519"
    found = outcome("Go 1.26", certificates=[chain("Ed25519", "1.3")], signature_schemes=[])
    assert found.connects


def test_an_ecdsa_key_needs_its_curve_among_the_clients_groups() -> None:
    more = {"spoken": ("1.2",), "certificates": [chain("ECDSA P-521", "1.2")]}
    found = outcome("IE 11, Windows 10", **more, signature_schemes=[])
    assert found.reason == "the client cannot use a certificate with ECDSA P-521"


def test_static_rsa_signs_nothing_and_has_no_forward_secrecy() -> None:
    suites = [listed("1.0", ("TLS_RSA_WITH_AES_128_CBC_SHA",))]
    found = outcome("Android 2.3.7", **rsa(spoken=("1.0",), suites=suites,
                                           certificates=[chain("RSA-2048", "1.0")]))  # fmt: skip
    assert found.connects
    assert found.key == "RSA-2048"
    assert found.group is None
    assert found.notes == ("no forward secrecy", "sends no SNI")


def test_a_prime_that_is_too_long_for_the_client() -> None:
    suites = [listed("1.0", ("TLS_DHE_RSA_WITH_AES_128_CBC_SHA@DH-2048",))]
    more = rsa(spoken=("1.0",), suites=suites, certificates=[chain("RSA-2048", "1.0")])
    found = outcome("Java 7u25", **more)
    assert found.reason == (
        "the server chooses TLS_DHE_RSA_WITH_AES_128_CBC_SHA with 2048 bits, "
        "the client takes 1024 at most"
    )
    assert outcome("OpenSSL 1.0.1l", **more).group == "DH-2048"


def test_signatures_that_the_server_does_not_make() -> None:
    more = rsa(signature_schemes=[listed("1.2", ("ecdsa_secp256r1_sha256",))])
    found = outcome("Android 7.0", **more)
    assert not found.connects
    assert "RSA-2048" in found.reason


@pytest.mark.parametrize("name", [each.name for each in clients() if "1.2" in each.versions])
def test_all_with_tls_1_2_connect_to_a_server_with_both_keys(name: str) -> None:
    suites = (*RSA_SUITES, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
              "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA")  # fmt: skip
    more = rsa(
        suites=[listed("1.2", suites)],
        signature_schemes=[],
        certificates=[chain("RSA-2048", "1.2"), chain("ECDSA P-256", "1.2")],
    )
    assert outcome(name, **more).connects


def test_a_client_connects_where_the_probe_knows_nothing() -> None:
    more: dict[str, Any] = {"groups": [], "certificates": [], "signature_schemes": []}
    found = outcome("Chrome 101", **more, alpn=None)
    assert found.connects
    assert (found.group, found.key, found.alpn) == (None, None, None)


def test_a_file_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r"tlslab\.clients/1"):
        read_clients({"schema": "x"})


def test_a_large_client_hello_reaches_only_a_server_that_takes_it() -> None:
    refusal = {"class": "reset", "words": "reset the connection"}
    large = {"bytes": 1684, "accepted": False, "refusal": refusal}
    found = outcome("Chromium 156", large_hello=large)
    words = "the server reset the connection to a ClientHello of more than one segment"
    assert (found.connects, found.reason) == (False, words)
    assert outcome("Chrome 101", large_hello=large).connects
    for accepted in (True, None):
        assert outcome("Chromium 156", large_hello={**large, "accepted": accepted}).connects


def test_a_key_for_pss_alone_is_for_clients_that_have_its_schemes() -> None:
    keys = [chain("1.2.840.113549.1.1.10", "1.3", "1.2", trusted=False, problem="self-signed")]
    suites = [listed("1.3", ("TLS_AES_128_GCM_SHA256",)), listed("1.2", RSA_SUITES)]
    spoken = ("1.3", "1.2")
    server = rsa(spoken=spoken, suites=suites, certificates=keys, signature_schemes=[])
    found = [simulate(offered(**server), each) for each in clients()]
    assert not any(each.connects for each in found)
    reasons = {each.reason for each in found}
    assert "the client refuses the certificate: self-signed" in reasons  # OpenSSL has the schemes
    assert "the client cannot use a certificate with 1.2.840.113549.1.1.10" in reasons
