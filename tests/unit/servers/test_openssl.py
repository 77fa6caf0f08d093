"""Settings of servers on OpenSSL."""

from tlslab.servers.openssl import cipher_list, group_list, is_weak, tls13_suites


def test_groups_have_openssls_names_and_unknown_ones_their_own() -> None:
    assert group_list(("X25519", "P-256", "brainpoolP256r1")) == "X25519:prime256v1:brainpoolP256r1"
    assert group_list(()) == ""


def test_suites_of_tls_1_2_are_listed_and_all_taken_where_none_is_named() -> None:
    suites = ("TLS_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA", "DHE-RSA-AES128-CCM")
    assert cipher_list(suites, None) == "AES128-SHA:DHE-RSA-AES128-CCM"
    assert cipher_list((), 2048) == "ALL:!aNULL:!eNULL"
    assert cipher_list(("TLS_AES_128_GCM_SHA256",), None) == "ALL:!aNULL:!eNULL"


def test_the_security_level_falls_for_what_is_weak_alone() -> None:
    assert cipher_list((), 1024) == "ALL:!aNULL:!eNULL:@SECLEVEL=0"
    assert is_weak(("TLS_RSA_WITH_RC4_128_MD5",), None)
    assert not is_weak(("TLS_RSA_WITH_AES_128_CBC_SHA",), 2048)


def test_ccm_is_among_the_suites_of_tls_1_3() -> None:
    assert "TLS_AES_128_CCM_SHA256" in tls13_suites().split(":")
