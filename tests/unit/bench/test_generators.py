from pathlib import Path

import pytest

from bench import generators, verify

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "parse", "completed", "failed"),
    [
        ("tlslab-load", generators.tlslab_load, 20, 0),
        ("ab", generators.ab, 50, 0),
        ("ab-404", generators.ab, 50, 50),
        ("wrk-404", generators.wrk, 703, 703),
        ("h2load", generators.h2load, 50, 0),
        ("httperf", generators.httperf, 40, 0),
        ("s_time", generators.s_time, 475, 0),
    ],
)
def test_completed_and_failed_connections_are_read_from_the_output(
    name: str, parse: generators.Parser, completed: int, failed: int
) -> None:
    counted = parse(golden(name))
    assert (counted.completed, counted.failed) == (completed, failed)


def test_only_full_handshakes_with_the_pinned_settings_are_as_wanted() -> None:
    lines = [
        ". TLSv1.3 TLS_AES_128_GCM_SHA256 X25519 1 200\n",
        ". TLSv1.3 TLS_AES_128_GCM_SHA256 X25519 1 200\n",
        "r TLSv1.3 TLS_AES_128_GCM_SHA256 X25519 1 200\n",
        ". TLSv1.3 TLS_AES_128_GCM_SHA256 X25519 2 200\n",
    ]
    found = verify.count(lines, completed=2)
    assert found.wanted == 2
    assert found.other == {lines[2].strip(): 1, lines[3].strip(): 1}
    assert not found.passed
    assert verify.count(lines[:2], completed=2).passed
