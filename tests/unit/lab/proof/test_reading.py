"""From files to configurations: certificates by their keys, settings that a fragment keeps."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from factories import folder as folders
from factories.run import World, made_run
from tlslab.advice.policy import policies_named
from tlslab.domain.configuration import Configuration, ServedCertificate
from tlslab.domain.errors import StoreError, UsageError
from tlslab.experiment import load, with_levels
from tlslab.lab.proof.reading import (
    DEFAULT_KEY,
    ReadingOptions,
    candidate_of,
    check_configurations,
    check_keys,
    laid_over,
    read_configuration,
    with_default_certificate,
    with_key,
)
from tlslab.servers.apache_tls import APACHE
from tlslab.servers.certificates import Authority
from tlslab.servers.haproxy import HAProxy
from tlslab.servers.haproxy_tls import HAPROXY
from tlslab.servers.nginx_tls import NGINX
from tlslab.servers.tls_part import Syntax

HOW = ReadingOptions("--baseline", NGINX)


def written(folder: Path, text: str) -> Path:
    file = folder / "my.conf"
    file.write_text(text, "utf-8")
    return file


def read(folder: Path, text: str, how: ReadingOptions = HOW) -> Configuration:
    return read_configuration(written(folder, text), "baseline", how)


@pytest.mark.parametrize("key", ["ecdsa-p384", "rsa-2048", "ed25519"])
def test_the_users_own_certificate_is_served_where_its_key_can_be_read(
    tmp_path: Path, key: str
) -> None:
    files = Authority(tmp_path).issue(key)
    text = f"ssl_certificate {files.certificate.name}; ssl_certificate_key {files.key.name};"
    assert read(tmp_path, text).certificates == (
        ServedCertificate(key, str(files.certificate), str(files.key)),
    )


def test_without_its_key_the_lab_makes_one_of_the_same_kind(tmp_path: Path) -> None:
    files = Authority(tmp_path).issue("rsa-3072")
    files.key.unlink()
    text = f"ssl_certificate {files.certificate}; ssl_certificate_key {files.key};"
    found = read(tmp_path, text)
    assert found.certificates == (ServedCertificate("rsa-3072"),)
    assert "the lab made one with rsa-3072" in found.notes[0]


def test_a_certificate_that_cannot_be_read_needs_its_key_named(tmp_path: Path) -> None:
    text = "ssl_certificate /nowhere.pem; ssl_certificate_key /nowhere.key;"
    with pytest.raises(UsageError, match=r"/nowhere\.pem cannot be read") as raised:
        read(tmp_path, text)
    assert "--key rsa-2048" in raised.value.remedy
    named = read(tmp_path, text, ReadingOptions("--baseline", NGINX, keys=("rsa-4096",)))
    assert named.certificates == (ServedCertificate("rsa-4096"),)


def close(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closes a folder as mode 0700 does for other users; root reads such a folder all the same."""
    above = {"stat": 1, "listdir": 0, "scandir": 0}
    for name, least in above.items():
        monkeypatch.setattr(os, name, _guarded(getattr(os, name), folder, least))


def _guarded(real: Callable[..., Any], folder: Path, least: int) -> Callable[..., Any]:
    """A function of `os` that refuses paths below a folder, `least` levels or more."""

    def refuse(path: Any = ".", *args: Any, **options: Any) -> Any:
        named = Path(path) if isinstance(path, str | Path) else Path()
        if folder in (named, *named.parents)[least:]:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **options)

    return refuse


CLOSED = {
    "nginx": (NGINX, "ssl_certificate {0}/a.pem; ssl_certificate_key {0}/a.key;"),
    "apache": (APACHE, "SSLCertificateFile {0}/a.pem\nSSLCertificateKeyFile {0}/a.key"),
    "haproxy": (HAPROXY, "frontend a\nbind :1 ssl crt {0}/a.pem"),
    "a folder": (HAPROXY, "frontend a\nbind :1 ssl crt {0}"),
}


@pytest.mark.parametrize("case", list(CLOSED))
def test_certificates_in_a_closed_folder_need_their_keys_named(
    tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `/etc/letsencrypt/live` is closed to all but root."""
    folder = tmp_path / "live"
    folder.mkdir()
    close(folder, monkeypatch)
    syntax, text = CLOSED[case]
    with pytest.raises(UsageError, match=r"live.* cannot be read") as raised:
        read(tmp_path, text.format(folder), ReadingOptions("--baseline", syntax))
    assert "--key rsa-2048" in raised.value.remedy
    keys = ("rsa-4096", "ecdsa-p256") if case == "a folder" else ("rsa-4096",)
    named = read(tmp_path, text.format(folder), ReadingOptions("--baseline", syntax, keys=keys))
    assert named.keys == keys


def test_a_file_without_a_certificate_gets_one(tmp_path: Path) -> None:
    found = with_default_certificate(read(tmp_path, "ssl_protocols TLSv1.3;"), HOW)
    assert found.keys == (DEFAULT_KEY,)
    assert "the lab makes one" in found.notes[0]


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(UsageError, match="--key rsa-512: unknown"):
        check_keys(("rsa-512",))


def test_parameters_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ssl_dhparam cannot be read"):
        read(tmp_path, "ssl_dhparam /nowhere.pem;")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a {", "the file ends within a directive"),
        ("server { listen 80; }", "no server in it has TLS"),
    ],
)
def test_faulty_files_are_refused_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as raised:
        read(tmp_path, text)
    assert "\n" not in raised.value.message
    assert raised.value.remedy


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_configuration(tmp_path / "none", "baseline", HOW)


def test_included_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "tls.inc").write_text("ssl_protocols TLSv1.3;", "utf-8")
    assert read(tmp_path, "include *.inc;").lines == ("ssl_protocols TLSv1.3;",)


@pytest.mark.parametrize("text", ["include live/*.conf;", "include live/a.conf;"])
def test_included_files_that_cannot_be_read_are_named(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "live"
    folder.mkdir()
    assert read(tmp_path, "include /nowhere/*.conf; ssl_protocols TLSv1.2;").unread == ()
    (folder / "a.conf").write_bytes(b"ssl_ciphers \xff;")
    named = (f"include {folder}/a.conf (line 1)",)
    assert read(tmp_path, text).unread == named
    (folder / "a.conf").unlink()
    close(folder, monkeypatch)
    closed = f"include {tmp_path}/{text.split()[1].rstrip(';')} (line 1)"
    assert read(tmp_path, text).unread == (closed,)


@pytest.mark.parametrize("name", ["closed", "*"])
def test_an_optional_file_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "live"
    folder.mkdir()
    text = f"IncludeOptional live/{name}\n<VirtualHost a>\nSSLEngine on\n</VirtualHost>"
    how = ReadingOptions("--baseline", APACHE)
    assert read(tmp_path, text, how).unread == ()
    close(folder, monkeypatch)
    assert read(tmp_path, text, how).unread == (f"IncludeOptional {folder}/{name} (line 1)",)


def test_a_fragment_leaves_what_it_does_not_set(tmp_path: Path) -> None:
    before = with_default_certificate(
        read(tmp_path, "ssl_ciphers A; ssl_session_cache shared:a:1m;"), HOW
    )
    after = laid_over(read(tmp_path, "ssl_ciphers B;"), before, NGINX)
    assert after.lines == ("ssl_ciphers B;", "ssl_session_cache shared:a:1m;")
    assert after.certificates == before.certificates
    assert after.notes == ("kept from the baseline: ssl_session_cache",)


def test_each_command_of_openssl_is_a_setting_of_its_own(tmp_path: Path) -> None:
    before = with_default_certificate(
        read(
            tmp_path,
            "ssl_conf_command Options PrioritizeChaCha; ssl_conf_command NumTickets 1;",
        ),
        HOW,
    )
    after = laid_over(read(tmp_path, "ssl_conf_command NumTickets 4;"), before, NGINX)
    assert after.lines == (
        "ssl_conf_command NumTickets 4;",
        "ssl_conf_command Options PrioritizeChaCha;",
    )
    assert after.notes == ("kept from the baseline: ssl_conf_command Options",)


def test_a_whole_server_stands_as_it_is(tmp_path: Path) -> None:
    before = with_default_certificate(read(tmp_path, "ssl_session_cache shared:a:1m;"), HOW)
    how = ReadingOptions("--candidate", NGINX, keys=("rsa-2048",))
    after = read(tmp_path, "ssl_ciphers B; ssl_certificate x; ssl_certificate_key y;", how)
    assert laid_over(after, before, NGINX) == after


def test_the_default_candidate_is_the_policies(tmp_path: Path) -> None:
    before = with_default_certificate(
        read(tmp_path, "ssl_protocols TLSv1.2;"),
        ReadingOptions("--baseline", NGINX, keys=("rsa-4096",)),
    )
    after = with_key(candidate_of(None, before, policies_named(()), HOW), before)
    assert "ssl_protocols TLSv1.2 TLSv1.3;" in after.lines
    assert after.keys == ("ecdsa-p256", "rsa-4096")
    assert "not measured" in after.source


@pytest.mark.parametrize("key", ["ecdsa-p256", "ed25519"])
def test_a_cheap_certificate_stays_alone(tmp_path: Path, key: str) -> None:
    how = ReadingOptions("--baseline", NGINX, keys=(key,))
    before = with_default_certificate(read(tmp_path, "ssl_protocols TLSv1.3;"), how)
    assert with_key(before, before) == before


def run_folder(folder: Path) -> Path:
    levels = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", "P-256", "P-384")}
    experiment = with_levels(load("groups", "quick"), levels)
    return folders.written(
        folder / "the groups", made_run(World(noise=0.005), experiment=experiment)
    )


def test_a_run_folder_as_the_candidate_is_what_recommend_chooses(tmp_path: Path) -> None:
    before = with_default_certificate(
        read(tmp_path, "ssl_ecdh_curve secp384r1; ssl_session_cache shared:own:1m;"), HOW
    )
    run = run_folder(tmp_path)
    after = candidate_of(run, before, policies_named(()), HOW)
    assert after.source == f"tlslab recommend '{run}' --for nginx"
    assert "ssl_ecdh_curve X25519:prime256v1:secp384r1;" in after.lines
    assert after.lines[-1] == "ssl_session_cache shared:own:1m;"
    assert after.certificates == before.certificates


def test_a_run_that_may_recommend_nothing_is_no_candidate(tmp_path: Path) -> None:
    before = with_default_certificate(read(tmp_path, "ssl_protocols TLSv1.3;"), HOW)
    with pytest.raises(UsageError, match="nothing in this run may be recommended") as raised:
        candidate_of(run_folder(tmp_path), before, policies_named(("rfc10015",)), HOW)
    assert "tlslab recommend" in raised.value.remedy


def test_a_folder_that_is_no_run_is_no_candidate(tmp_path: Path) -> None:
    before = with_default_certificate(read(tmp_path, "ssl_protocols TLSv1.3;"), HOW)
    with pytest.raises(StoreError):
        candidate_of(tmp_path, before, policies_named(()), HOW)


@pytest.mark.parametrize(
    ("syntax", "text", "taken", "left"),
    [
        (
            APACHE,
            "SSLProtocol -all +TLSv1.2\nSSLSessionTickets off",
            "SSLProtocol -all +TLSv1.2 +TLSv1.3",
            "SSLSessionTickets off",
        ),
        (
            HAPROXY,
            "frontend a\nbind :1 ssl force-tlsv12 no-tls-tickets",
            "bind ssl-max-ver TLSv1.3",
            "bind no-tls-tickets",
        ),
    ],
)
def test_the_policies_have_a_candidate_for_each_server(
    tmp_path: Path, syntax: Syntax, text: str, taken: str, left: str
) -> None:
    """All of its lines are settings; those of the baseline that it does not set stay."""
    how = ReadingOptions("--baseline", syntax, keys=("rsa-2048",))
    before = with_default_certificate(read(tmp_path, text, how), how)
    after = with_key(candidate_of(None, before, policies_named(()), how), before)
    assert taken in after.lines
    assert after.lines[-1] == left
    assert not any("force" in line for line in after.lines)
    assert after.keys == ("ecdsa-p256", "rsa-2048")
    check_configurations((before, after), syntax.server)


def test_a_line_of_another_server_is_no_setting(tmp_path: Path) -> None:
    found = read(tmp_path, "ssl_protocols TLSv1.3;")
    check_configurations([found], "nginx")
    for server in ("apache", "haproxy"):
        with pytest.raises(UsageError, match="not a setting of TLS"):
            check_configurations([found], server)
    with pytest.raises(UsageError, match="no file of caddy is read"):
        check_configurations([found], "caddy")


def test_haproxys_keys_are_in_the_file_or_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "certificates"
    folder.mkdir()
    made = [Authority(tmp_path).issue(key) for key in ("ecdsa-p384", "rsa-2048")]
    both, beside = folder / "a.pem", folder / "b.pem"
    both.write_bytes(made[0].certificate.read_bytes() + made[0].key.read_bytes())
    beside.write_bytes(made[1].certificate.read_bytes())
    Path(f"{beside}.key").write_bytes(made[1].key.read_bytes())
    how = ReadingOptions("--baseline", HAPROXY)
    found = read(tmp_path, "frontend a\nbind :1 ssl crt certificates", how)
    assert found.certificates == (
        ServedCertificate("ecdsa-p384", str(both), str(both)),
        ServedCertificate("rsa-2048", str(beside), f"{beside}.key"),
    )
    with pytest.raises(UsageError, match=r"none\.txt cannot be read"):
        read(tmp_path, "frontend a\nbind :1 ssl crt-list none.txt", how)


@pytest.mark.parametrize(
    ("version", "default"),
    [("2.6.12-1+deb12u4", False), ("2.7.9", False), ("2.8.0", True), ("3.10-dev1", True)],
)
@pytest.mark.parametrize("said", ["", "alpn h2", "no-alpn"])
def test_haproxys_version_has_its_default_of_http2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, default: bool, said: str
) -> None:
    versions = staticmethod(lambda program: (f"haproxy/{version}", "OpenSSL 3.0"))
    monkeypatch.setattr(HAProxy, "versions", versions)
    monkeypatch.setattr(HAProxy, "find", staticmethod(lambda: "haproxy"))
    how = ReadingOptions("--baseline", HAPROXY, keys=("rsa-2048",))
    before = read(tmp_path, f"frontend a\nbind :1 ssl crt a.pem {said}", how)
    assert before.http2 is (said == "alpn h2" or (not said and default))
    # A fragment leaves what it does not set.
    after = candidate_of(None, before, policies_named(()), how)
    assert after.http2 is before.http2


def test_apaches_key_may_be_in_the_file_of_the_certificate(tmp_path: Path) -> None:
    files = Authority(tmp_path).issue("ecdsa-p256")
    both = tmp_path / "both.pem"
    both.write_bytes(files.key.read_bytes() + files.certificate.read_bytes())
    how = ReadingOptions("--baseline", APACHE)
    found = read(tmp_path, "SSLCertificateFile both.pem", how)
    assert found.certificates == (ServedCertificate("ecdsa-p256", str(both), str(both)),)


@pytest.mark.parametrize("syntax", [NGINX, APACHE, HAPROXY], ids=lambda each: each.server)
def test_a_file_without_anything_of_the_servers_tls_is_refused(
    tmp_path: Path, syntax: Syntax
) -> None:
    with pytest.raises(UsageError, match=f"no setting of TLS for {syntax.server} is in it"):
        read(tmp_path, "", ReadingOptions("--baseline", syntax))


def test_a_mark_of_byte_order_is_no_part_of_a_name(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfssl_protocols TLSv1.2;\n")
    assert read_configuration(tmp_path / "f", "baseline", HOW).lines == ("ssl_protocols TLSv1.2;",)


@pytest.mark.parametrize(
    ("syntax", "text", "settings"),
    [
        (NGINX, "ssl_protocols TLSv1.2;", 1),
        (NGINX, "server { listen 443 ssl; }", 0),
        (APACHE, "SSLProtocol TLSv1.2", 1),
        (APACHE, "<VirtualHost a>\nSSLEngine on\n</VirtualHost>", 0),
        (HAPROXY, "global\n    ssl-default-bind-options ssl-min-ver TLSv1.2", 1),
        (HAPROXY, "bind ssl-min-ver TLSv1.2", 1),
        (HAPROXY, "frontend f\n    bind :443 ssl", 0),
    ],
)
def test_each_form_of_a_file_is_read(
    tmp_path: Path, syntax: Syntax, text: str, settings: int
) -> None:
    found = read(tmp_path, text, ReadingOptions("--baseline", syntax))
    assert len(found.lines) == settings
