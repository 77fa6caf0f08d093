"""The names of estimates, and their units."""

import pytest

from tlslab.analysis import keep_alive, measures
from tlslab.analysis.benchmark import fork_estimates
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import estimate_name, shown


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


def test_every_estimate_of_the_lab_has_a_name_of_its_own() -> None:
    names = [*measures.UNITS, *keep_alive.UNITS, *fork_estimates.UNITS]
    words = [estimate_name(name) for name in names]
    assert not [each for each in words if "_" in each]
    assert len(set(words)) == len(words)
    assert not [n for n, w in zip(names, words, strict=True) if w == n.replace("_", " ")]


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
