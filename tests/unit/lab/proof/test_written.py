"""The configuration that is written for a server: any characters in paths, no hidden directive."""

from dataclasses import replace
from pathlib import Path

import pytest

from tlslab.domain.configuration import Configuration, ServedCertificate
from tlslab.domain.errors import UsageError
from tlslab.lab.proof.reading import ReadingOptions, check_configurations, read_configuration
from tlslab.servers.base import Setting
from tlslab.servers.certificates import Authority
from tlslab.servers.dhparam import parameters_pem
from tlslab.servers.nginx_tls import NGINX
from tlslab.servers.registry import find_kind

BASELINE = ReadingOptions("--baseline", NGINX)


TEXTS = {
    "nginx": "ssl_certificate {0}; ssl_certificate_key {1};ssl_dhparam dh.pem; "
    "ssl_protocols TLSv1.2;",
    "apache": "SSLCertificateFile {0}\nSSLCertificateKeyFile {1}\nSSLProtocol TLSv1.2",
    "haproxy": "global\nssl-dh-param-file dh.pem\nfrontend a\nbind :1 ssl crt {0} no-tlsv13",
}


def with_own_files(folder: Path, server: str = "nginx") -> Path:
    """A configuration with a certificate and Diffie-Hellman parameters beside it."""
    folder.mkdir(parents=True)
    files = Authority(folder).issue("ecdsa-p256")
    (folder / "dh.pem").write_text(parameters_pem("2048"), "ascii")
    file = folder / "my.conf"
    if server == "haproxy":
        files.key.rename(f"{files.certificate}.key")
    text = TEXTS[server].format(files.certificate.name, files.key.name)
    file.write_text(text, "utf-8")
    return file


@pytest.mark.parametrize("name", ["a b", "a;b", 'a"b', "a\\b", "a'b {c} #d"])
@pytest.mark.parametrize("server", list(TEXTS))
def test_a_server_reads_each_path_as_it_is(tmp_path: Path, name: str, server: str) -> None:
    kind = find_kind(server)
    assert kind.syntax is not None
    how = ReadingOptions("--baseline", kind.syntax)
    found = read_configuration(with_own_files(tmp_path / name, server), "baseline", how)
    check_configurations((found,), server)
    assert found.certificates[0].certificate.startswith(str(tmp_path / name))
    # The lab's own folder has no such name.
    private = tmp_path / ("private" if server != "nginx" else f"private {name}")
    private.mkdir()
    setting = Setting(private, ("ecdsa-p256",), (), 100, (), configuration=found)
    target = kind.make(setting)
    assert target.prepare() == {}
    running = target.start()
    running.stop()


def test_haproxy_leaves_a_key_where_it_is(tmp_path: Path) -> None:
    """A key with another name than HAProxy looks for: nothing new in its folder, and no copy."""
    own, private = tmp_path / "own", tmp_path / "private"
    own.mkdir()
    private.mkdir()
    files = Authority(own).issue("ecdsa-p256")
    before = sorted(own.iterdir())
    served = ServedCertificate("ecdsa-p256", str(files.certificate), str(files.key))
    found = Configuration("baseline", "f", ("bind ssl-min-ver TLSv1.2",), (served,))
    target = find_kind("haproxy").make(
        Setting(private, ("ecdsa-p256",), (), 100, (), configuration=found)
    )
    assert target.prepare() == {}
    assert target.prepare() == {}
    target.start().stop()
    assert sorted(own.iterdir()) == before
    secret = files.key.read_bytes()
    copies = [
        file
        for file in private.rglob("*")
        if file.is_file() and not file.is_symlink() and secret in file.read_bytes()
    ]
    assert not copies


def test_a_path_with_a_variable_is_refused(tmp_path: Path) -> None:
    """`ssl_certificate` takes variables, and nginx has no escape for the character `$`."""
    with pytest.raises(UsageError, match="no way to write this path down") as raised:
        read_configuration(with_own_files(tmp_path / "a$b"), "baseline", BASELINE)
    assert "without $" in raised.value.remedy


@pytest.mark.parametrize(
    "line",
    [
        "root /;",
        "ssl_protocols TLSv1.3; root /;",
        "ssl_protocols TLSv1.3",
        "} location / { return 200; }",
        "ssl_protocols TLSv1.3; # more",
        "ssl_protocols TLSv1.3;\ninclude /etc/passwd;",
        "ssl_conf_command Certificate /etc/shadow;",
        "ssl_engine x;",
        'ssl_dhparam "a\nb";',
        "",
    ],
)
def test_a_line_of_a_file_that_is_no_setting_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match="not a setting of TLS that a proof takes"):
        check_configurations((Configuration("baseline", "f", (line,), ()),), "nginx")


def test_settings_and_certificates_of_a_file_are_taken_back() -> None:
    lines = (
        "ssl_protocols TLSv1.2 TLSv1.3;",
        "ssl_conf_command Options PrioritizeChaCha;",
        "ssl_dhparam /a/dh.pem;",
        'ssl_dhparam "/a b/dh.pem";',
    )
    found = Configuration("baseline", "f", lines, (ServedCertificate("ecdsa-p256"),))
    check_configurations((found,), "nginx")
    bad = ServedCertificate("ecdsa-p256", "/a/$b.pem", "/a/b.key")
    with pytest.raises(UsageError, match="no way to write this path down"):
        check_configurations((replace(found, certificates=(bad,)),), "nginx")
