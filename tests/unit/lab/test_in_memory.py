import copy
from typing import Any

import pytest

from tlslab.domain.errors import StoreError
from tlslab.lab.benchmark.in_memory import flags, read
from tlslab.lab.benchmark.jmh import ForkFailedError
from tlslab.lab.benchmark.keystores import KeyStore

RECORD: dict[str, Any] = {
    "backend": "rustls",
    "versions": {"rustls": "0.23.46", "tlslab": "0.1.0"},
    "handshakes": {
        "outcomes": {"completed": 60, "failed": {}},
        "seconds": 0.5,
        "handshakes_per_s": 120.0,
        "cpu_us": 1200.0,
        "first_failure": "",
        "summaries": {
            "service": {
                "n": 60, "mean_ms": 16.0, "p50_ms": 1.2, "p90_ms": 40.0, "p95_ms": 50.0,
                "p99_ms": 101.0, "p999_ms": 102.0, "max_ms": 103.0,
            }
        },
    },
}  # fmt: skip


def test_one_process_gives_both_modes() -> None:
    runs = read(RECORD, 2, ("--threads", "2"))
    assert runs["throughput"].rate == 120
    assert runs["throughput"].iterations[0].cpu_us == 72_000
    assert (runs["sample"].percentiles_ms or {})["99"] == 101
    assert runs["sample"].samples == 60
    assert runs["sample"].program == "tlslab-load 0.1.0"
    assert runs["sample"].runtime == "rustls 0.23.46"


def test_failed_handshakes_are_a_reason() -> None:
    record = copy.deepcopy(RECORD)
    record["handshakes"]["outcomes"]["failed"] = {"timeout": 3}
    record["handshakes"]["first_failure"] = "no answer"
    with pytest.raises(ForkFailedError, match="no answer"):
        read(record, 2, ())


def test_another_record_is_refused() -> None:
    with pytest.raises(StoreError):
        read({"handshakes": None}, 1, ())


def test_the_engine_gets_what_the_virtual_machines_pin() -> None:
    line = " ".join(
        flags("handshake-tls12", KeyStore("pkcs11", flags=("--pkcs11-token=t",)), 4, 50)
    )
    assert "--tls 1.2 --suite TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 --group X25519" in line
    assert "--sigalg rsa_pkcs1_sha256 --handshake mutual" in line
    assert line.endswith("--pkcs11-token=t")
    with pytest.raises(ForkFailedError) as caught:
        flags("sign", KeyStore("memory"), 1, 50)
    assert caught.value.class_ == "unsupported"
