"""The rows of estimates: names in words, units, families, columns."""

import pytest

from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CAPACITY,
    CONNECTIONS,
    CONNECTIONS_PER_CPU,
    HANDSHAKE,
    OPEN_CLIENT_COST,
    OPEN_REQUESTS,
    OPERATION,
    RESPONSE,
    SERVER_COST,
    SERVER_MEMORY,
    Quantity,
    at_load,
    axis_title,
    bounded_by_verdict,
    columns,
    estimate_name,
    in_order,
    judged_in,
    parts_of,
    quantile,
    quantity,
    shown,
    tiles,
)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("connections_per_s", "new connections/s"),
        ("keep_alive_requests_per_s", "requests/s on connections kept open"),
        (
            "server_cpu_us_per_connection_user",
            "the server's processor time for a new connection, in the program",
        ),
        ("handshake_ms_p50", "handshake time p50"),
        ("response_ms_p99_at_40", "response time p99 at 40 % of the maximum"),
        ("response_ms_mean_at_2.5", "response time mean at 2.5 % of the maximum"),
        ("operation_ms_p999", "time of an operation p99.9"),
        ("something_new", "something new"),
    ],
)
def test_names_in_words(name: str, words: str) -> None:
    assert estimate_name(name) == words


def test_no_two_estimates_have_the_same_words() -> None:
    names = [name for family in ("runs", "cells", "ranking") for name in judged_in(family)]
    known = {
        *names,
        *bounded_by_verdict(),
        *(row.name for row in columns(True) + columns(False)),
    }
    words = {estimate_name(name) for name in known}
    assert len(words) == len(known)
    assert not [each for each in words if "_" in each]


def test_names_with_parameters() -> None:
    assert quantile(HANDSHAKE, 99) == "handshake_ms_p99"
    assert quantile(OPERATION, 99.9) == "operation_ms_p999"
    assert at_load(quantile(RESPONSE, 50), 0.025) == "response_ms_p50_at_2.5"
    assert parts_of(SERVER_COST) == (f"{SERVER_COST}_user", f"{SERVER_COST}_system")


def test_the_properties_of_a_row() -> None:
    assert quantity(CONNECTIONS).more_is_better
    assert quantity(CONNECTIONS_PER_CPU).more_is_better
    assert not quantity(SERVER_COST).more_is_better
    assert quantity(SERVER_MEMORY).is_amount
    assert quantity("response_ms_p99_at_40").of_maximum
    assert not quantity(CAPACITY).of_maximum
    assert not quantity(CONNECTIONS_PER_CPU).is_bounded
    assert quantity(OPEN_REQUESTS).is_bounded
    assert OPEN_REQUESTS not in bounded_by_verdict()
    assert quantity("something_per_s") == Quantity(
        "something_per_s", "", "share", "something per s"
    )


def test_orders() -> None:
    names = ["response_ms_p99_at_40", "handshake_ms_p99", SERVER_COST, CONNECTIONS]
    assert in_order(names) == names[::-1]
    # New connections come first, then connections kept open; parts of the client's cost there are
    # not compared.
    compared = judged_in("cells")
    assert compared.index(CONNECTIONS_PER_CPU) < compared.index(OPEN_REQUESTS)
    assert not set(parts_of(OPEN_CLIENT_COST)) & set(compared)
    assert [row.dimension for row in tiles()] == ["rate", "rate", "cost", "cost", "time", "amount"]
    hidden = [row.hidden for row in columns(keep_alive=False)]
    assert hidden == sorted(hidden)


def test_axes_have_units_unless_the_words_contain_them() -> None:
    assert axis_title(CONNECTIONS) == "new connections/s"
    assert axis_title(SERVER_COST) == "the server's processor time for a new connection, µs"


@pytest.mark.parametrize(
    ("unit", "value", "found"),
    [
        ("us", 254.0, (254.0, "µs")),
        ("share", 0.98, (98.0, "%")),
        ("B", 12e6, (12.0, "MB")),
        ("B", 1500.0, (1500.0, "B")),
        ("1/s", 3877.0, (3877.0, "/s")),
        ("ratio", 1.3, (1.3, "times")),
    ],
)
def test_units_as_people_read_them(unit: str, value: float, found: tuple[float, str]) -> None:
    given = shown(Estimate(value, value / 2, None, 5, unit, "made up"))
    assert given.value == pytest.approx(found[0])
    assert given.unit == found[1]
    assert given.low == pytest.approx(found[0] / 2)
    assert given.high is None
