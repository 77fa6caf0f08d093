"""Compares the probe with sslscan on real servers: both report the same."""

import json
import socket
import struct
import subprocess
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from live.harness import SMALL, Own, Tlslab, assert_finished, setting, trials
from tlslab.servers import Authority, Nginx
from tlslab.servers.base import Running
from tlslab.servers.process import ServerProcess, wait_until

# sslscan's names for groups, if they differ from ours.
SSLSCAN_GROUPS = {
    "secp256r1 (NIST P-256)": "P-256",
    "secp384r1 (NIST P-384)": "P-384",
    "secp521r1 (NIST P-521)": "P-521",
    "x25519": "X25519",
    "x448": "X448",
}

VERSIONS = {
    ("ssl", "2"): "SSL 2.0",
    ("ssl", "3"): "SSL 3.0",
    ("tls", "1.0"): "1.0",
    ("tls", "1.1"): "1.1",
    ("tls", "1.2"): "1.2",
    ("tls", "1.3"): "1.3",
}

# The differences between the servers: nginx's directives, and their keys.
CONFIGURATIONS = {
    "modern": ("ssl_protocols TLSv1.3;", ("ecdsa-p256",)),
    "intermediate": (
        "ssl_protocols TLSv1.2 TLSv1.3; ssl_prefer_server_ciphers on;"
        " ssl_ciphers ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA;",
        ("rsa-2048",),
    ),
    "old": (
        "ssl_protocols TLSv1 TLSv1.1 TLSv1.2; ssl_ciphers ALL:@SECLEVEL=0;"
        " ssl_session_cache shared:probe:1m; ssl_session_tickets on;",
        ("rsa-2048", "ecdsa-p256"),
    ),
}


class Configured(Nginx):
    """The lab's nginx with other directives in place of its own."""

    directives = ""

    def _configure(self, *arguments: Any) -> Path:
        config = super()._configure(*arguments)
        names = {line.split()[0] for line in self.directives.split(";") if line.strip()}
        lines = config.read_text().splitlines()
        kept = [line for line in lines if not line.strip() or line.split()[0] not in names]
        at = next(number for number, line in enumerate(kept) if "server_name" in line)
        kept.insert(at, self.directives)
        config.write_text("\n".join(kept))
        return config


@contextmanager
def nginx(folder: Path, directives: str, keys: tuple[str, ...]) -> Iterator[Own]:
    target = Configured(setting(folder, *keys))
    target.directives = directives
    target.prepare()
    ca = folder / "ca.pem"
    ca.write_text(target.trust_pem)
    running = target.start()
    try:
        yield Own(running, ca)
    finally:
        running.stop()


def netloc(server: Own) -> str:
    return urlsplit(server.url).netloc


def probed(tlslab: Tlslab, server: Own, *options: str) -> Any:
    ended = tlslab.run("probe", netloc(server), "--json", "--ca", str(server.ca), *options)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def sslscan(tlslab: Tlslab, server: Own) -> ET.Element:
    path = tlslab.folder / "sslscan.xml"
    command = ["sslscan", "--show-sigs", "--ocsp", f"--xml={path}", "--sni-name=localhost"]
    subprocess.run([*command, netloc(server)], check=True, capture_output=True, timeout=120)
    test = ET.parse(path).getroot().find("ssltest")
    assert test is not None
    return test


def by_version(found: list[dict[str, Any]], field: str) -> dict[tuple[str, Any], dict[str, Any]]:
    return {(of["version"], each[field]): each for of in found for each in of["accepted"]}


def sslscan_version(name: str) -> str:
    return {"SSLv3": "SSL 3.0"}.get(name, name.removeprefix("TLSv"))


@pytest.mark.capability("probe: what sslscan reports of nginx", only=("intermediate",))
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_what_sslscan_reports_we_report_the_same(tlslab: Tlslab, tmp_path: Path, name: str) -> None:
    with nginx(tmp_path, *CONFIGURATIONS[name]) as server:
        theirs = sslscan(tlslab, server)
        ours = probed(tlslab, server, "--sni", "localhost")
    protocols = {
        VERSIONS[each.attrib["type"], each.attrib["version"]]: each.attrib["enabled"] == "1"
        for each in theirs.findall("protocol")
    }
    assert ours["unanswered"] == []
    assert {each["version"]: each["accepted"] for each in ours["versions"]} == protocols
    compare_suites(ours, theirs)
    compare_groups(ours, theirs)
    compare_schemes(ours, theirs)
    compare_certificate(ours, theirs)
    compare_the_rest(ours, theirs)


def compare_suites(ours: Any, theirs: ET.Element) -> None:
    suites = by_version(ours["suites"], "code_point")
    ciphers = {
        (sslscan_version(each.attrib["sslversion"]), int(each.attrib["id"], 16)): each.attrib
        for each in theirs.findall("cipher")
    }
    # A server has nothing that its OpenSSL, the same as sslscan's, does not know.
    assert set(suites) == set(ciphers)
    for key, attributes in ciphers.items():
        assert suites[key]["bits"] == int(attributes["bits"]), suites[key]
        if "dhebits" in attributes:
            assert suites[key]["group"] == f"DH-{attributes['dhebits']}"
    for found in ours["suites"]:
        # If the server's order decides, sslscan calls the first suite preferred.
        if found["order"] == "server":
            preferred = [
                number
                for (version, number), each in ciphers.items()
                if version == found["version"] and each["status"] == "preferred"
            ]
            assert [found["accepted"][0]["code_point"]] == preferred


def protocols_of(ours: Any) -> set[str]:
    return {each["version"] for each in ours["versions"] if each["accepted"]}


def compare_groups(ours: Any, theirs: ET.Element) -> None:
    groups = set(by_version(ours["groups"], "name"))
    reported = {
        (
            sslscan_version(each.attrib["sslversion"]),
            SSLSCAN_GROUPS.get(each.attrib["name"], each.attrib["name"]),
        )
        for each in theirs.findall("group")
    }
    # sslscan lists groups of TLS 1.2 and 1.3 only, like us.
    assert groups == reported


def compare_schemes(ours: Any, theirs: ET.Element) -> None:
    schemes = set(by_version(ours["signature_schemes"], "code_point"))
    reported = {
        (sslscan_version(each.attrib["sslversion"]), int(each.attrib["id"], 16))
        for each in theirs.findall("connection-signature-algorithm")
    }
    assert reported <= schemes


def compare_certificate(ours: Any, theirs: ET.Element) -> None:
    for certificate in theirs.findall("certificates/certificate"):
        subject = certificate.findtext("subject")
        chain = next(c for c in ours["certificates"] if c["subject"] == f"CN={subject}")
        assert chain["signature_algorithm"] == certificate.findtext("signature-algorithm")
        assert chain["issuer"] == f"CN={certificate.findtext('issuer')}"
        assert chain["trusted"] is True
        assert chain["name_matches"] is True
        altnames = certificate.findtext("altnames") or ""
        assert chain["names_count"] == len(altnames.split(", "))
        key = certificate.find("pk")
        assert key is not None
        wanted = "RSA-" + key.attrib["bits"] if key.attrib["type"] == "RSA" else "ECDSA P-256"
        assert chain["key"] == wanted


def compare_the_rest(ours: Any, theirs: ET.Element) -> None:
    fallback = theirs.find("fallback")
    if fallback is not None and len(protocols_of(ours)) > 1:
        assert ours["protections"]["fallback_scsv"] == (fallback.attrib["supported"] == "1")
    compression = theirs.find("compression")
    if compression is not None and ours["compression"]["records"] is not None:
        assert bool(ours["compression"]["records"]) == (compression.attrib["supported"] == "1")
    renegotiation = theirs.find("renegotiation")
    assert renegotiation is not None
    # sslscan tests this in TLS 1.0 only, and calls it unsupported without TLS 1.0.
    if "1.0" in protocols_of(ours):
        assert ours["renegotiation"]["secure"] == (renegotiation.attrib["secure"] == "1")


def test_what_sslscan_does_not_report(tlslab: Tlslab, tmp_path: Path) -> None:
    """Resumption, order of preference, ALPN and single offers of an nginx with known settings."""
    directives, keys = CONFIGURATIONS["old"]
    with nginx(tmp_path, directives, keys) as server:
        ours = probed(tlslab, server, "--sni", "localhost")
    assert {chain["key"] for chain in ours["certificates"]} == {"RSA-2048", "ECDSA P-256"}
    assert ours["resumption"]["session_id"] is True
    assert ours["resumption"]["ticket"] is True
    assert ours["resumption"]["psk"] is None
    assert ours["protections"]["extended_master_secret"] is True
    assert "http/1.1" in ours["alpn"]["accepted"]
    assert ours["incomplete"] is None
    assert {each["order"] for each in ours["suites"]} == {"client"}


@pytest.mark.parametrize(
    ("directives", "session_id", "ticket"),
    [
        ("ssl_session_tickets off; ssl_session_cache shared:probe:1m;", True, False),
        ("ssl_session_tickets on; ssl_session_cache none;", False, True),
        # nginx still names each session, and sends stateful tickets that it has forgotten.
        ("ssl_session_tickets off; ssl_session_cache none;", False, False),
    ],
)
def test_resumption_is_what_the_server_resumes_and_not_what_it_hands_out(
    tlslab: Tlslab, tmp_path: Path, directives: str, session_id: bool, ticket: bool
) -> None:
    directives = f"ssl_protocols TLSv1.2 TLSv1.3; ssl_conf_command NumTickets 2; {directives}"
    with nginx(tmp_path, directives, ("rsa-2048",)) as server:
        ours = probed(tlslab, server, "--sni", "localhost", "--only", "resumption")
    found = ours["resumption"]
    assert (found["session_id"], found["ticket"]) == (session_id, ticket)
    assert (found["psk"], found["tickets"]) == (session_id or ticket, 2)


def test_a_server_of_x25519_alone_hides_nothing(tlslab: Tlslab, tmp_path: Path) -> None:
    directives = (
        "ssl_protocols TLSv1.2; ssl_ecdh_curve X25519; ssl_session_tickets on;"
        " ssl_ciphers ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-CHACHA20-POLY1305;"
    )
    with nginx(tmp_path, directives, ("rsa-2048",)) as server:
        ours = probed(tlslab, server, "--sni", "localhost")
    [groups] = ours["groups"]
    assert [each["name"] for each in groups["accepted"]] == ["X25519"]
    assert len(by_version(ours["suites"], "code_point")) == 2
    assert (ours["resumption"]["ticket"], ours["renegotiation"]["secure"]) == (True, True)
    assert ours["unanswered"] == []


def test_a_server_that_lets_clients_renegotiate(tlslab: Tlslab, tmp_path: Path) -> None:
    """OpenSSL's own test server, which can be configured to allow it."""
    authority = Authority(tmp_path)
    files = authority.issue("rsa-2048")
    log = tmp_path / "s_server.log"
    command = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-tls1_2", "-www"]
    command += ["-client_renegotiation", "-cert", str(files.certificate), "-key", str(files.key)]
    process = ServerProcess(command, log)
    ca = tmp_path / "ca.pem"
    ca.write_text(authority.trust_pem)
    try:
        assert wait_until(lambda: "ACCEPT 127" in log.read_text(), process, 30)
        listening = log.read_text().split("ACCEPT ")[1].split()[0]
        server = Own(Running(f"https://{listening}/", process), ca)
        ours = probed(tlslab, server, "--only", "renegotiation")
    finally:
        process.stop()
    assert ours["renegotiation"] == {"secure": True, "client_initiated": True}


@pytest.mark.parametrize(
    ("flags", "psk_ke", "early_data"),
    [
        ([], False, None),
        (["-allow_no_dhe_kex"], True, None),
        (["-early_data", "-no_anti_replay"], False, True),
        (["-early_data", "-no_anti_replay", "-allow_no_dhe_kex"], True, True),
    ],
)
def test_a_key_alone_and_early_data_are_tried(
    tlslab: Tlslab, tmp_path: Path, flags: list[str], psk_ke: bool, early_data: bool | None
) -> None:
    """OpenSSL's own test server, which echoes; its standard input has to stay open for that."""
    authority = Authority(tmp_path)
    files = authority.issue("ecdsa-p256")
    command = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-tls1_3", "-rev", *flags]
    if "-early_data" in flags:
        command.remove("-rev")
    command += ["-cert", str(files.certificate), "-key", str(files.key)]
    ca = tmp_path / "ca.pem"
    ca.write_text(authority.trust_pem)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            assert server.stdout is not None
            reported = next(line for line in server.stdout if line.startswith("ACCEPT 127"))
            address = reported.split()[1]
            arguments = ["--json", "--ca", str(ca), "--only", "resumption", "--timeout", "3s"]
            ended = tlslab.run("probe", address, *arguments)
        finally:
            server.kill()
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)["resumption"]
    assert (found["psk"], found["psk_ke"]) == (True, psk_ke)
    assert found["early_data_accepted"] is early_data
    assert found["max_early_data_bytes"] == (16384 if early_data else 0)


def test_a_cell_that_the_probe_saw_refused_is_reported_with_the_servers_answer(
    tlslab: Tlslab, tmp_path: Path, own_nginx: Own
) -> None:
    levels = ["--set", "group=X25519,X448", "--set", "key=rsa-2048"]
    experiment = tmp_path / "two.toml"
    experiment.write_text(SMALL.format(blocks=1, measure_ms=200, connections=2, cost_ms=200))
    ended = tlslab.run(
        "run", "two.toml", "--target", own_nginx.url, "--ca", str(own_nginx.ca), *levels,
        "--out", "r",
    )  # fmt: skip
    assert_finished(ended, tlslab.folder / "r")
    reported = [json.loads(line) for line in trials(tlslab.folder / "r")]
    reason = next(trial["reason"] for trial in reported if trial["status"] == "unsupported")
    assert reason["class"] == "alert_handshake_failure"
    words = "the server answered handshake_failure (40) to TLS 1.3 with only X448"
    assert reason["message"].startswith(words)


@contextmanager
def one_segment(url: str) -> Iterator[str]:
    """A device in front of a server that reads one segment, and resets if a record is longer.

    Yields its URL. Serves in threads of its own, until the block ends.
    """
    behind = urlsplit(url)

    def relay(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            first = client.recv(1_448)
            if len(first) < 5 + int.from_bytes(first[3:5]):
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            with socket.create_connection((behind.hostname, behind.port)) as server:
                server.sendall(first)
                back = threading.Thread(target=relay, args=(server, client), daemon=True)
                back.start()
                relay(client, server)
                back.join(10)

    def accept(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield f"https://localhost:{listener.getsockname()[1]}{behind.path}"


def test_behind_a_device_that_reads_one_segment_the_other_cells_are_measured(
    tlslab: Tlslab, tmp_path: Path, own_nginx: Own
) -> None:
    experiment = tmp_path / "two.toml"
    experiment.write_text(SMALL.format(blocks=1, measure_ms=200, connections=2, cost_ms=200))
    levels = ["--set", "group=X25519,X25519MLKEM768", "--set", "key=rsa-2048"]
    with one_segment(own_nginx.url) as url:
        ended = tlslab.run(
            "run", "two.toml", "--target", url, "--ca", str(own_nginx.ca), *levels, "--out", "r"
        )
        graded = tlslab.run("grade", urlsplit(url).netloc, "--ca", str(own_nginx.ca), "--json")
    assert_finished(ended, tlslab.folder / "r")
    reported = {trial["cell"]: trial for trial in map(json.loads, trials(tlslab.folder / "r"))}
    statuses = {key.rpartition("=")[2]: trial["status"] for key, trial in reported.items()}
    assert statuses == {"X25519": "done", "X25519MLKEM768": "unsupported"}
    found = json.loads(graded.out)
    groups = [each["name"] for each in found["found"] if each["topic"] == "group"]
    assert "X25519MLKEM768" not in groups
    assert "X25519" in groups
    assert any("more than one segment" in note for note in found["notes"])
    assert found["unanswered"] == []


def test_what_cannot_be_probed_is_one_line(tlslab: Tlslab) -> None:
    ended = tlslab.run("probe", "192.0.2.1", XDG_CONFIG_HOME="/none")
    assert ended.code == 3
    assert len(ended.errors) == 1
    assert "--allow" in ended.err.splitlines()[1]
    ended = tlslab.run("probe", "http://localhost/")
    assert ended.code == 2
    assert ended.errors == ["error: http://localhost/: only a server that speaks TLS can be asked"]
    assert ended.err.splitlines()[1] == "  help: give HOST[:PORT] or https://HOST[:PORT]/"
    ended = tlslab.run("probe", "localhost:1")
    assert ended.code == 3
    assert len(ended.errors) == 1
    assert ended.errors[0].startswith("error: nothing listens on localhost:1 (")
    assert "127.0.0.1" in ended.errors[0]
    assert ended.err.splitlines()[1] == "  help: start the server, or correct the port"
    for option, value, words in [
        ("--only", "curves", "unknown topic 'curves'; known: versions, suites"),
        ("--rate", "1000000000", "--rate must be 1 to 1000"),
    ]:
        ended = tlslab.run("probe", "localhost", option, value)
        assert ended.code == 2
        assert option in ended.errors[0]
        assert words in ended.errors[0]
        assert "--probe" not in ended.err
