"""Tomcat on each Java installation of this machine, with each of its TLS implementations."""

import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from live.served import served
from tlslab.domain.errors import CannotRunError
from tlslab.domain.levels import Levels
from tlslab.servers.base import Setting
from tlslab.servers.jdk import Jdk, find_jdks
from tlslab.servers.tomcat import CONNECTORS, FEATURE, Tomcat

JDKS = [jdk for jdk in find_jdks().found if jdk.feature >= FEATURE]
RUNTIMES = [
    pytest.param(jdk, name, id=f"{jdk.feature}-{name}")
    for jdk in JDKS
    for name, connector in CONNECTORS.items()
    if jdk.feature >= connector.feature
]


def setting(folder: Path) -> Setting:
    keys = ("ecdsa-p256", "rsa-2048")
    return Setting(
        folder,
        keys,
        ("X25519", "P-256", "P-384"),
        2048,
        (),
        http2=True,
        levels=Levels.of(workers="20"),
    )


def test_this_machine_has_java() -> None:
    assert JDKS


@pytest.mark.capability("Tomcat negotiates what is asked for", only=("17-openssl",))
@pytest.mark.parametrize(("jdk", "connector"), RUNTIMES)
def test_what_is_asked_for_is_what_is_negotiated(tmp_path: Path, jdk: Jdk, connector: str) -> None:
    suite = "TLS_RSA_WITH_AES_128_GCM_SHA256"
    ccm = "TLS_DHE_RSA_WITH_AES_128_CCM"
    asked = replace(
        setting(tmp_path),
        suites=(suite, ccm),
        levels=Levels.of(jdk=str(jdk.home), connector=connector, dh_bits="3072"),
    )
    with served(Tomcat(asked), tmp_path) as tomcat:
        assert tomcat.target.software.startswith("Tomcat/11.")
        assert tomcat.target.software.endswith(jdk.label)
        jsse = connector == "jsse"
        assert tomcat.target.backend.startswith("JSSE of " if jsse else "OpenSSL 3")
        # JSSE has no CCM suite, and Tomcat lets OpenSSL choose the size of the parameters.
        assert set(tomcat.lacking) == {("suite", ccm) if jsse else ("dh_bits", "3072")}

        newest = tomcat.facts("--tls", "1.3", "--group", "P-384")
        assert (newest["group"], newest["kind"]) == ("P-384", "full")
        rsa = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
        older = tomcat.facts("--http", "2", "--tls", "1.2", "--suite", rsa, "--group", "X25519")
        assert (older["suite"], older["group"], older["alpn"]) == (rsa, "X25519", "h2")
        # JDK 25 forbids RSA key transport unless it is enabled.
        assert tomcat.facts("--tls", "1.2", "--suite", suite)["suite"] == suite
        dhe = "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"
        group = tomcat.facts("--tls", "1.2", "--suite", dhe)["group"]
        assert group == ("DH-3072" if jsse else "DH-2048")


def test_without_tls_it_serves_behind_a_front(tmp_path: Path) -> None:
    plain = Tomcat(replace(setting(tmp_path), plain=True))
    with (
        served(plain, tmp_path) as tomcat,
        urllib.request.urlopen(tomcat.running.url, timeout=30) as answer,
    ):
        assert (answer.status, len(answer.read())) == (200, 2048)


def test_a_refused_configuration_is_reported_in_tomcats_words(tmp_path: Path) -> None:
    class Spoilt(Tomcat):
        def _issue(self) -> dict[tuple[str, str], str]:
            lacking = super()._issue()
            (tmp_path / "rsa-2048.key").write_text("no key at all")
            return lacking

    with pytest.raises(CannotRunError, match=r"Tomcat did not start: .*(?i:key)"):
        Spoilt(setting(tmp_path)).prepare()


def test_a_jvm_that_dies_at_once_is_reported_in_its_words(tmp_path: Path) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        '[ "$1" = -version ] && { echo \'openjdk version "21.0.1"\' >&2; exit 0; }\n'
        "echo 'Error occurred during initialization of VM' >&2; exit 1\n"
    )
    java.chmod(0o755)
    target = Tomcat(replace(setting(tmp_path), levels=Levels.of(jdk=str(tmp_path / "jdk"))))
    with pytest.raises(CannotRunError, match="did not start: Error occurred during initialization"):
        target.prepare()
