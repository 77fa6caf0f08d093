"""The estimates by which runs are compared, and their order."""

from tlslab.analysis.judged_estimates import gated_rates, judged_names, leading_rate
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPEN_REQUESTS


def estimates(**values: float) -> dict[str, Estimate]:
    return {name: Estimate(value, None, None, 5, "", "") for name, value in values.items()}


def test_rates_come_first_and_response_times_at_loads_last() -> None:
    found = judged_names(
        estimates(response_ms_p99_at_40=1.0, handshake_ms_p99=1.0, server_busy=1.0),
        estimates(server_memory_bytes=1.0, connections_per_s=1.0, response_ms_p90_at_40=1.0),
    )
    assert found == [
        "connections_per_s", "server_memory_bytes", "handshake_ms_p99", "response_ms_p99_at_40",
    ]  # fmt: skip


def test_requests_that_are_the_connections_are_left_out() -> None:
    one = estimates(connections_per_s=10.0, requests_per_s=10.0)
    several = estimates(connections_per_s=10.0, requests_per_s=80.0)
    assert judged_names(one, one) == judged_names(one, {}) == ["connections_per_s"]
    assert judged_names(one, several) == ["connections_per_s", "requests_per_s"]
    assert judged_names({"requests_per_s": one["requests_per_s"]}) == ["requests_per_s"]


def test_a_gate_looks_at_the_rate_of_the_kind_and_at_open_connections() -> None:
    assert gated_rates({"connections_per_s", "handshake_ms_p50"}) == ("connections_per_s",)
    both = {OPEN_REQUESTS, "connections_per_s", "capacity_connections_per_s"}
    assert gated_rates(both) == ("capacity_connections_per_s", OPEN_REQUESTS)
    assert gated_rates({"operations_per_s", "operation_ms_p50"}) == ("operations_per_s",)
    assert gated_rates(()) == ()
    assert leading_rate(()) == "connections_per_s"
