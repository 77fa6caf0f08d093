from pathlib import Path

import pytest

from bench import floor, generators, verify

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


def test_wrk_reports_its_socket_errors_in_a_line_of_their_own() -> None:
    output = golden("wrk") + "  Socket errors: connect 1, read 2, write 3, timeout 4\n"
    assert generators.wrk(golden("wrk")).failed == 0
    assert generators.wrk(output).failed == 10


def test_the_floor_is_the_sum_of_its_terms() -> None:
    found = floor.parse(golden("floor"))
    assert set(found.terms) == set(floor.NAMES)
    terms = dict.fromkeys(floor.NAMES, 1.0)
    assert floor.Floor(terms).total(floor.LEAN) == 5 + 1 / 128
    assert floor.Floor(terms).total(floor.FULL) == 7


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


@pytest.mark.parametrize("completed", [0, 2])
def test_a_generator_that_counts_more_than_the_server_saw_does_not_pass(completed: int) -> None:
    lines = [". TLSv1.3 TLS_AES_128_GCM_SHA256 X25519 1 200\n"]
    assert not verify.count(lines, completed).passed
