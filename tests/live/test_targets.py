"""`tlslab targets`: starts and probes each server."""

import json

from live.harness import Tlslab
from tlslab.model.names import SUITES

SERVERS = ("reference", "nginx", "apache", "haproxy")

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
        assert each["front"] == (name in ("nginx", "haproxy"))
        assert each["behind"] == (name != "reference")
    assert "MLKEM768" in found["reference"]["groups"]["1.3"]


def test_the_table_has_every_server_and_an_unknown_one_is_refused(tlslab: Tlslab) -> None:
    ended = tlslab.run("targets", "nginx")
    assert ended.code == 0, ended.err
    assert "nginx/" in ended.out
    assert "as front" in ended.out
    assert tlslab.run("targets", "iis").code == 2
