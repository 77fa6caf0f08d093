import json
from pathlib import Path

import pytest

from bench import floor, parsers, profile, verify
from tlslab.domain.errors import CannotRunError

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "parse", "completed", "failed"),
    [
        ("tlslab-load", parsers.tlslab_load, 20, 0),
        ("ab", parsers.ab, 50, 0),
        ("ab-404", parsers.ab, 50, 50),
        ("wrk-404", parsers.wrk, 703, 703),
        ("h2load", parsers.h2load, 50, 0),
        ("httperf", parsers.httperf, 40, 0),
        ("s_time", parsers.s_time, 475, 0),
    ],
)
def test_what_a_generator_completed_is_read_from_its_output(
    name: str, parse: parsers.Parser, completed: int, failed: int
) -> None:
    counted = parse(golden(name))
    assert (counted.completed, counted.failed) == (completed, failed)


def test_the_record_brings_the_workers_own_processor_time() -> None:
    assert parsers.tlslab_load(golden("tlslab-load")).own_cpu_us == 5525


def test_wrk_reports_its_socket_errors_in_a_line_of_their_own() -> None:
    output = golden("wrk") + "  Socket errors: connect 1, read 2, write 3, timeout 4\n"
    assert parsers.wrk(golden("wrk")).failed == 0
    assert parsers.wrk(output).failed == 10


@pytest.mark.parametrize(
    "parse",
    [
        parsers.tlslab_load,
        parsers.ab,
        parsers.wrk,
        parsers.h2load,
        parsers.httperf,
        parsers.s_time,
    ],
)
def test_an_output_without_figures_is_an_error_that_shows_it(parse: parsers.Parser) -> None:
    with pytest.raises(ValueError, match="address not known"):
        parse("address not known\n")


def test_the_floor_is_the_sum_of_its_terms() -> None:
    found = floor.parse(golden("floor"))
    assert set(found.terms) == set(floor.NAMES)
    terms = dict.fromkeys(floor.NAMES, 1.0)
    assert floor.Floor(terms).total(floor.LEAN) == 5 + 1 / 128
    assert floor.Floor(terms).total(floor.FULL) == 7


def test_the_floor_has_a_request_on_its_connection() -> None:
    output = json.loads(golden("floor"))
    request = next(one for one in output["primitives"] if one["operation"] == "request")
    assert floor.parse(json.dumps(output)).terms["tcp"] == request["median_us"]
    output["primitives"].remove(request)
    with pytest.raises(CannotRunError, match="no request of TCP"):
        floor.parse(json.dumps(output))


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


def test_symbols_are_grouped_by_the_work_they_do() -> None:
    report = (
        "# Overhead;Shared Object;Symbol\n"
        " 20.81% ;tlslab-load         ;[.] Lcurve25519_x25519_scalarloop\n"
        "  6.27% ;[kernel.kallsyms]   ;[k] clear_page_erms\n"
        "  1.00% ;[kernel.kallsyms]   ;[k] tcp_v4_rcv\n"
        "  0.50% ;tlslab-load         ;[.] Lcurve25519_x25519_midloop\n"
    )
    lines = list(profile.parse(report))
    assert len(lines) == 4
    assert profile.grouped(lines) == pytest.approx(
        {"X25519": 21.31, "kernel: memory": 6.27, "kernel: TCP, IP, sockets": 1.0}
    )
