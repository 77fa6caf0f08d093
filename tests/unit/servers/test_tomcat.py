"""The configuration of Tomcat, and the report on it, without a start."""

import zipfile
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.domain.levels import Levels
from tlslab.servers.base import Setting
from tlslab.servers.jdk import Jdk
from tlslab.servers.tomcat import (
    Tomcat,
    disabled_algorithms,
    find_tomcat,
    group_name,
    native_options,
    own_words,
    tls_options,
)

SECURITY = """\
# jdk.tls.disabledAlgorithms=nothing
jdk.tls.disabledAlgorithms=SSLv3, TLSv1, DH keySize < 1024, \\
    ECDH, TLS_RSA_*
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "tomcat-home"
    (home / "lib").mkdir(parents=True)
    (home / "bin").mkdir()
    (home / "bin" / "bootstrap.jar").touch()
    with zipfile.ZipFile(home / "lib" / "catalina.jar", "w") as jar:
        info = "# ASF\nserver.info=Apache Tomcat/11.0.99\n"
        jar.writestr("org/apache/catalina/util/ServerInfo.properties", info)
    return home


def jdk(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    (folder / "conf" / "security").mkdir(parents=True)
    (folder / "conf" / "security" / "java.security").write_text(SECURITY)
    return folder


def setting(folder: Path, version: str = "25.0.1", **levels: str) -> Setting:
    java = jdk(folder / "jdk", version)
    return Setting(
        folder,
        ("ecdsa-p256", "rsa-2048"),
        ("X25519",),
        100,
        (),
        levels=Levels.of(levels, jdk=str(java)),
    )


def connector(target: Tomcat, folder: Path) -> ElementTree.Element:
    target._issue()
    target._lay_out()
    found = ElementTree.parse(folder / "tomcat" / "conf" / "server.xml").find(".//Connector")
    assert found is not None
    return found


def test_threads_certificates_and_protocols_are_in_its_configuration(
    home: Path, tmp_path: Path
) -> None:
    asked = replace(setting(tmp_path, workers="37", connector="openssl"), http2=True)
    found = connector(Tomcat(asked, str(home)), tmp_path)
    assert found.attrib["maxThreads"] == "37"
    assert [each.attrib["type"] for each in found.iter("Certificate")] == ["EC", "RSA"]
    assert found.find("UpgradeProtocol") is not None
    host = found.find("SSLHostConfig")
    assert host is not None
    assert host.attrib["groups"] == "x25519"
    assert host.attrib["cipherSuites"].startswith("TLS_AES_128_GCM_SHA256:")
    assert host.attrib["disableSessionTickets"] == "true"


def test_a_server_has_one_thread_if_one_is_asked_for(home: Path, tmp_path: Path) -> None:
    found = connector(Tomcat(setting(tmp_path, workers="1"), str(home)), tmp_path)
    assert found.attrib["maxThreads"] == "1"


def test_a_server_that_is_given_no_number_has_tomcats_own_number_of_threads(
    home: Path, tmp_path: Path
) -> None:
    found = connector(Tomcat(setting(tmp_path), str(home)), tmp_path)
    assert found.attrib["maxThreads"] == "200"
    assert found.find("UpgradeProtocol") is None


def test_one_certificate_of_each_type_fits_in(home: Path, tmp_path: Path) -> None:
    keys = ("ecdsa-p256", "ecdsa-p384", "rsa-2048", "ed25519")
    target = Tomcat(replace(setting(tmp_path), keys=keys), str(home))
    assert set(target._issue()) == {("key", "ecdsa-p384"), ("key", "ed25519")}


def test_a_java_that_is_too_old_is_reported(home: Path, tmp_path: Path) -> None:
    with pytest.raises(
        CannotRunError, match=r"Tomcat 11 needs Java 17 or newer, and .* JDK 11\.0\.2"
    ):
        Tomcat(setting(tmp_path, "11.0.2"), str(home))


def test_tomcat_9_runs_on_older_java_and_has_the_suites_of_tls_13_among_its_ciphers(
    home: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(home / "lib" / "catalina.jar", "w") as jar:
        jar.writestr(
            "org/apache/catalina/util/ServerInfo.properties", "server.info=Apache Tomcat/9.0.99\n"
        )
    target = Tomcat(setting(tmp_path, "11.0.2"), str(home))
    assert target.software == "Tomcat/9.0.99 on JDK 11.0.2"
    host = connector(target, tmp_path).find("SSLHostConfig")
    assert host is not None
    assert "TLS_AES_128_GCM_SHA256" in host.attrib["ciphers"].split(",")
    with pytest.raises(CannotRunError, match=r"Tomcat 9 needs Java 8 or newer"):
        Tomcat(setting(tmp_path / "old", "1.7.0_80"), str(home))


def test_a_connector_that_its_java_lacks_is_reported(home: Path, tmp_path: Path) -> None:
    asked = setting(tmp_path, "17.0.2", connector="openssl-ffm")
    lacking = Tomcat(asked, str(home)).prepare()
    assert list(lacking) == [("connector", "openssl-ffm")]
    assert "openssl-ffm needs Java 22 or newer" in lacking["connector", "openssl-ffm"]


def test_an_unknown_connector_is_an_error_with_those_that_there_are(
    home: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="unknown connector 'apr'") as caught:
        Tomcat(setting(tmp_path, connector="apr"), str(home))
    assert caught.value.remedy == "known: jsse, openssl, openssl-ffm"


def test_a_machine_without_tomcat_is_reported_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALINA_HOME", str(tmp_path))
    assert find_tomcat() is None
    with pytest.raises(CannotRunError, match="Tomcat is not installed") as caught:
        Tomcat(Setting(tmp_path, (), (), 1, ()))
    assert "make tomcat" in caught.value.remedy


def test_a_jdk_allows_forbidden_suites_only_on_demand(tmp_path: Path) -> None:
    assert disabled_algorithms(SECURITY)[-1] == "TLS_RSA_*"
    java = Jdk(jdk(tmp_path / "jdk", "25"), "25")
    plain = tls_options(java, tmp_path, ["X25519"], [], "none", None)
    assert not any("java.security.properties" in option for option in plain)
    reported = tls_options(java, tmp_path, [], ["TLS_RSA_WITH_AES_128_CBC_SHA"], "none", 2048)
    assert f"-Djava.security.properties={tmp_path / 'java.security'}" in reported
    assert "-Djdk.tls.ephemeralDHKeySize=2048" in reported
    written = (tmp_path / "java.security").read_text()
    assert written == "jdk.tls.disabledAlgorithms=SSLv3, TLSv1, DH keySize < 1024, ECDH\n"


@pytest.mark.parametrize(("resume", "tickets"), [("none", "false"), ("psk", "true")])
def test_tickets_are_for_resumption(tmp_path: Path, resume: str, tickets: str) -> None:
    options = tls_options(Jdk(tmp_path, "17"), tmp_path, [], [], resume, None)
    assert f"-Djdk.tls.server.enableSessionTicketExtension={tickets}" in options


def test_names_of_java(tmp_path: Path) -> None:
    names = [group_name(group) for group in ("X25519", "P-256", "P-384", "X448", "ffdhe2048")]
    assert names == ["x25519", "secp256r1", "secp384r1", "x448", "ffdhe2048"]
    assert native_options(Jdk(tmp_path, "25")) == ["--enable-native-access=ALL-UNNAMED"]
    assert native_options(Jdk(tmp_path, "17")) == []


def test_its_own_words_are_the_innermost_cause() -> None:
    log = (
        "01-Jan-2026 10:00:00.0 SEVERE [main] org.apache.X.load Failed to initialize\n"
        "\tCaused by: java.lang.IllegalArgumentException: outer\n"
        "\tCaused by: java.security.KeyException: not a key\n"
        "\t\tat org.apache.Y\n"
    )
    assert own_words(log) == "java.security.KeyException: not a key"
    assert own_words(log.splitlines()[0]) == "Failed to initialize"
    assert own_words("Error: no\n VM\n") == "Error: no VM"
