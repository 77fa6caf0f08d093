"""The accounting of records: every started connection has an outcome, and no host counts twice."""

from typing import Any


def assert_balanced(outcomes: dict[str, Any]) -> None:
    """Every attempt is accounted for once."""
    ended = outcomes["completed"] + sum(outcomes["failed"].values())
    ended += sum(outcomes["unexpected"].values())
    open_ = outcomes["in_flight_at_stop"] + outcomes["lost_with_host"]
    assert outcomes["attempts"] == ended + open_


def assert_accounts(record: dict[str, Any]) -> None:
    """The total of a merged record and each host's part are balanced; the total is their sum."""
    parts = [host["outcomes"] for host in record["hosts"]]
    assert parts
    for outcomes in (record["outcomes"], *parts):
        assert_balanced(outcomes)
    for name in ("attempts", "completed", "in_flight_at_stop", "lost_with_host"):
        assert record["outcomes"][name] == sum(part[name] for part in parts)
    for name in ("failed", "unexpected"):
        of_hosts = sum(sum(part[name].values()) for part in parts)
        assert sum(record["outcomes"][name].values()) == of_hosts
    kept = [host["outcomes"]["completed"] for host in record["hosts"] if not host["lost"]]
    assert record["summaries"]["service"]["n"] == sum(kept)
