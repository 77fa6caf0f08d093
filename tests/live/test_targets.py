"""`tlslab targets`: starts and probes each server."""

import json

from live.harness import Tlslab
from tlslab.domain.names import GROUPS, SUITES
from tlslab.servers.reference import RUSTLS_GROUPS, RUSTLS_SUITES

SERVERS = ("reference", "nginx", "apache", "haproxy")
RUSTLS = "reference-rustls"

TAKES = {
    "reference": ["burn", "dh_bits", "ocsp_stapling", "workers"],
    "nginx": ["dh_bits", "ocsp_stapling", "workers"],
    "apache": ["dh_bits", "workers"],
    "haproxy": ["dh_bits", "ocsp_stapling", "workers"],
}


def test_each_server_is_listed_with_what_it_was_seen_to_accept(tlslab: Tlslab) -> None:
    ended = tlslab.run("targets", "--json", *SERVERS)
    assert ended.code == 0, ended.err
    found = {each["name"]: each for each in json.loads(ended.out)}
    assert tuple(found) == SERVERS
    for name, each in found.items():
        assert each["problem"] is None
        assert each["versions"] == ["1.3", "1.2"]
        assert {"X25519", "X448", "ffdhe4096"} <= set(each["groups"]["1.3"])
        suites = [suite for names in each["suites"].values() for suite in names]
        assert sorted(suites) == sorted(suite.name for suite in SUITES)
        assert {"h2", "http/1.1"} <= set(each["alpn"])
        assert each["keys"] == ["ecdsa-p256", "rsa-2048"]
        assert each["takes"] == TAKES[name]
        assert each["front"] == (name != "reference")
        assert each["behind"]
    assert "MLKEM768" in found["reference"]["groups"]["1.3"]


def test_the_reference_server_on_rustls_is_found_with_what_the_lab_asks_of_it(
    tlslab: Tlslab,
) -> None:
    ended = tlslab.run("targets", "--json", RUSTLS)
    assert ended.code == 0, ended.err
    (found,) = json.loads(ended.out)
    assert found["problem"] is None
    assert found["backend"] == "rustls"
    # The probe finds what the lab does not ask for: all of the library's.
    assert found["groups"]["1.3"] == [g.name for g in GROUPS if g.name in RUSTLS_GROUPS]
    suites = {name for names in found["suites"].values() for name in names}
    assert suites == set(RUSTLS_SUITES)
    assert found["takes"] == ["burn", "ocsp_stapling", "workers"]


def test_the_table_has_every_server_and_an_unknown_one_is_refused(tlslab: Tlslab) -> None:
    ended = tlslab.run("targets", "nginx")
    assert ended.code == 0, ended.err
    assert "nginx/" in ended.out
    assert "as front" in ended.out
    assert tlslab.run("targets", "iis").code == 2
