"""OCSP responses that real servers staple, as seen by tlslab's clients and by OpenSSL's."""

import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from live.harness import Tlslab, trials
from live.test_servers import Started, started, wanted
from tlslab.domain.deployment import Deployment
from tlslab.domain.levels import Levels
from tlslab.servers.programs import require_program

STAPLING = Levels.of(ocsp_stapling="on")

# Servers with a response for each of several certificates, and those with one for all.
EACH = ("reference", "haproxy")
ONE = ("nginx", "node")

# The minimal client, both libraries, both versions.
CLIENTS = (
    ("--tls=1.3", "--group=X25519"),
    ("--tls=1.3", "--group=X25519", "--client=library"),
    ("--tls=1.3", "--backend=openssl"),
    ("--tls=1.2", "--backend=rustls"),
    ("--tls=1.2", "--backend=openssl"),
)

# The bytes around a response: 8 bytes in TLS 1.3; in TLS 1.2 an extension, and a message in its own
# record.
WRAPPED = 8

# Signatures and serial numbers vary in length by some bytes.
VARYING = 24


def keys_of(name: str) -> tuple[str, ...]:
    return ("ecdsa-p256", "rsa-2048") if name in EACH else ("ecdsa-p256",)


def stapled(record: dict[str, Any]) -> int:
    """The single length that all connections of a record have seen; none was unexpected."""
    outcomes = record["outcomes"]
    assert (outcomes["failed"], outcomes["unexpected"]) == ({}, {})
    (length,) = {fact["ocsp_response_bytes"] for fact in record["facts"]}
    assert record["preflight"]["facts"]["ocsp_response_bytes"] == length
    return int(length)


def handshake_bytes(record: dict[str, Any]) -> float:
    both = record["bytes"]["handshake_sent"] + record["bytes"]["handshake_received"]
    return float(both / record["outcomes"]["completed"])


def asked_by_openssl(server: Started, *flags: str) -> str:
    """The output of `openssl s_client` for a connection."""
    place = urlsplit(server.running.url).netloc
    command = ["openssl", "s_client", "-connect", place, "-CAfile", str(server.ca), *flags]
    command += ["-servername", "localhost", "-verify_return_error"]
    ended = subprocess.run(command, input=b"", capture_output=True, timeout=20, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.decode("utf-8", "replace")


@pytest.mark.parametrize("name", [*EACH, *ONE])
def test_what_is_stapled_is_seen_and_costs_its_length(name: str, tmp_path: Path) -> None:
    records = {}
    for level in ("off", "on"):
        folder = tmp_path / level
        folder.mkdir()
        asked = wanted(folder, keys=keys_of(name), groups=("X25519", "P-256"), http2=False)
        with started(Deployment(name, levels=Levels.of(ocsp_stapling=level)), asked) as server:
            for flags in CLIENTS:
                record = server.load(*flags, "--sigalg=ecdsa_secp256r1_sha256",
                                     f"--ocsp-stapling={level}")  # fmt: skip
                assert record["outcomes"]["completed"] == 8
                records[level, flags] = record
            other = "off" if level == "on" else "on"
            with pytest.raises(AssertionError, match=r"staples (no|an) OCSP response"):
                server.load("--tls=1.3", f"--ocsp-stapling={other}")
            for version in ("-tls1_2", "-tls1_3"):
                said = asked_by_openssl(server, version, "-status")
                assert ("Cert Status: good" in said) == (level == "on"), said
                assert ("OCSP response: no response sent" in said) == (level == "off"), said
                # A client that does not request a response gets none.
                assert "OCSP" not in asked_by_openssl(server, version)
    for flags in CLIENTS:
        off, on = records["off", flags], records["on", flags]
        assert stapled(off) == 0
        # An ECDSA authority's response.
        assert 200 < stapled(on) < 400
        more = handshake_bytes(on) - handshake_bytes(off) - stapled(on) - WRAPPED
        assert -VARYING <= more <= VARYING, (flags, more)
    assert records["on", CLIENTS[0]]["minimal_client"] > 0


@pytest.mark.parametrize("name", EACH)
def test_each_certificate_has_its_own_response(name: str, tmp_path: Path) -> None:
    asked = wanted(tmp_path, keys=keys_of(name), http2=False)
    with started(Deployment(name, levels=STAPLING), asked) as server:
        lengths = {
            scheme: stapled(server.load("--tls=1.2", f"--sigalg={scheme}", "--ocsp-stapling=on"))
            for scheme in ("ecdsa_secp256r1_sha256", "rsa_pkcs1_sha256")
        }
        for scheme, file in (("ecdsa", "ecdsa-p256.ocsp"), ("rsa", "rsa-2048.ocsp")):
            (length,) = (n for known, n in lengths.items() if known.startswith(scheme))
            assert length == (tmp_path / file).stat().st_size


def test_the_probe_says_how_long_the_response_is(tmp_path: Path) -> None:
    asked = wanted(tmp_path, keys=("ecdsa-p256",), http2=False)
    with started(Deployment("nginx", levels=STAPLING), asked) as server:
        length = stapled(server.load("--tls=1.3"))
        command = [require_program("tlslab-load"), "probe", "--json", f"--ca={server.ca}"]
        command += ["--sni=localhost", urlsplit(server.running.url).netloc]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        (chain,) = json.loads(ended.stdout)["certificates"]
    assert chain["staple"] == {"status": "successful", "bytes": length}


@pytest.mark.timeout(200)
@pytest.mark.parametrize("target", ["reference", "nginx", "haproxy"])
def test_a_run_compares_both_levels(target: str, tlslab: Tlslab, tmp_path: Path) -> None:
    ended = tlslab.run("run", "stapling", "--quick", "--blocks", "2", "--out", "r",
                       "--target", target)  # fmt: skip
    # Validity depends on the other work of the machine.
    assert ended.code in (0, 1), ended.err
    made = [json.loads(line) for line in trials(tmp_path / "r")]
    assert {trial["status"] for trial in made} == {"done"}
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    cells = {cell["factors"]["ocsp_stapling"]: cell["estimates"] for cell in summary["cells"]}
    assert "ocsp_response_bytes" not in cells["off"]
    length = cells["on"]["ocsp_response_bytes"]["value"]
    wire = {level: found["wire_bytes_per_handshake"]["value"] for level, found in cells.items()}
    assert abs(wire["on"] - wire["off"] - length - WRAPPED) <= VARYING
    assert cells["on"]["server_cpu_us_per_connection"]["value"] > 0
