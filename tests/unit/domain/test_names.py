"""The names are the engine's own."""

import json
from pathlib import Path

import pytest

from tlslab.domain import names

SCHEMA = Path(__file__).parents[3] / "schema" / "spec.json"


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("Group", [group.name for group in names.GROUPS]),
        ("CipherSuite", [*(suite.name for suite in names.SUITES), *names.OBSOLETE_SUITES]),
        ("SignatureScheme", list(names.SIGNATURE_SCHEMES)),
        ("TlsVersion", [*names.OBSOLETE_TLS_VERSIONS, *names.TLS_VERSIONS]),
    ],
)
def test_engine_and_lab_know_the_same_names(kind: str, known: list[str]) -> None:
    definitions = json.loads(SCHEMA.read_text("utf-8"))["$defs"]
    assert definitions[kind]["enum"] == known


def test_names_are_found_by_alias_and_in_any_letter_case() -> None:
    found = names.find_group("SECP256R1")
    assert found is not None
    assert found.name == "P-256"
    suite = names.find_suite("ecdhe-ecdsa-chacha20-poly1305")
    assert suite is not None
    assert suite.name == "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
    assert names.find_group("P-257") is None
    assert names.find_suite("RC4") is None


@pytest.mark.parametrize(
    ("suite", "tls", "bits"),
    [
        ("TLS_AES_128_GCM_SHA256", "1.3", 128),
        ("TLS_CHACHA20_POLY1305_SHA256", "1.3", 256),
        ("ECDHE-ECDSA-AES256-GCM-SHA384", "1.2", 256),
        ("AES128-SHA256", "1.2", 128),
        ("DHE-RSA-AES256-CCM", "1.2", 256),
    ],
)
def test_a_suite_reports_its_version_and_the_size_of_its_key(
    suite: str, tls: str, bits: int
) -> None:
    found = names.find_suite(suite)
    assert found is not None
    assert (found.tls, found.bits) == (tls, bits)
