"""Generators in words: their clocks, and their losses."""

import pytest

from tlslab.domain.finding import HostUse
from tlslab.words.places import host_words, time_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.25, "250 ms"),
        (1.2e-4, "0.120 ms"),
        (3.1e-5, "31.0 µs"),
        (8e-8, "0.080 µs"),
        (0.0, "0 µs"),
    ],
)
def test_short_times_have_fitting_units(seconds: float, words: str) -> None:
    assert time_words(seconds) == words


def test_a_host_with_all_that_is_known_of_it() -> None:
    host = HostUse(
        name="east",
        processor="a processor",
        processors=(2, 3),
        runs=7,
        lost=1,
        reason="it died",
        handshakes_per_s=2300.0,
        clock_error_s=2e-5,
        clock_moved_s=0.04,
        drift_ppm=-3.0,
        start_skew_s=1e-4,
        objections={"late_arrivals": 2},
    )
    assert host_words(host) == (
        "7 runs on processors 2, 3; a processor; 2,300 handshakes/s in memory before the load; "
        "clock known to 20.0 µs, drift of -3.00 ppm, moved by 40.0 ms; began 0.100 ms after the "
        "first at most; late_arrivals in 2 runs; lost in 1 run: it died"
    )


def test_unknown_facts_of_a_host_are_left_out() -> None:
    assert host_words(HostUse("east", "", (), 1)) == "1 run"
