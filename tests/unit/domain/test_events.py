"""The fields that the lab reads from the engine's events: real ones of `tlslab-load --events`."""

import json
from typing import Any

from tlslab.domain.events import (
    EngineEnded,
    GeneratorLost,
    Pace,
    Percentiles,
    Rate,
    RunEnded,
    of_run,
)
from tlslab.domain.run_record import total_us

BOUNDS = [0.0001, 0.00025]
TIMES = {"bounds_s": BOUNDS, "counts": [1, 2, 0], "sum_s": 0.0004, "count": 3}
TOTALS: dict[str, Any] = {
    "due": 9,
    "arrivals": 8,
    "completed": 3,
    "failed": {"reset": 2},
    "unexpected": 1,
    "requests": 3,
    "in_flight": 2,
    "handshake": TIMES,
    "service": TIMES,
    "response": TIMES,
    "exchange": TIMES,
    "cpu": {"user_us": 5, "system_us": 4},
}
PROGRESS: dict[str, Any] = {
    "event": "progress",
    "at_s": 2.0,
    "left_s": 1.0,
    "completed": 3,
    "failed": 3,
    "offered_per_s": 4.5,
    "started_per_s": 4.0,
    "connections_per_s": 1.5,
    "requests_per_s": 1.5,
    "in_flight": 2,
    "waiting": 1,
    "service": {"n": 3, "p50_ms": 0.1, "p99_ms": 0.2},
    "response": {"n": 3, "p50_ms": 0.3, "p99_ms": 0.4},
    "exchange": None,
    "totals": TOTALS,
}


def test_a_second_has_its_totals() -> None:
    pace = Pace.of(json.loads(json.dumps(PROGRESS)))
    assert (pace.at_s, pace.left_s, pace.offered_per_s, pace.waiting) == (2.0, 1.0, 4.5, 1)
    assert (pace.service, pace.response) == (Percentiles(0.1, 0.2), Percentiles(0.3, 0.4))
    assert pace.exchange is None
    totals = pace.totals
    assert totals is not None
    assert (totals.due, totals.troubled, total_us(totals.cpu)) == (9, 3, 9)
    assert totals.arrivals == totals.completed + totals.troubled + totals.in_flight
    assert (totals.service.counts, totals.service.count) == ((1, 2, 0), 3)


def test_a_closed_loop_has_no_arrivals_and_no_response_times() -> None:
    closed = {**TOTALS, "due": None, "response": None}
    over = EngineEnded.of({"event": "ended", "totals": closed})
    assert over.totals is not None
    assert (over.totals.due, over.totals.response) == (None, None)
    both = over.totals.plus(over.totals)
    assert (both.due, both.response, both.failed) == (None, None, {"reset": 4})
    assert both.service.counts == (2, 4, 0)


def test_an_engine_of_another_version_may_report_less() -> None:
    few = ("connections_per_s", "requests_per_s", "in_flight", "failed", "service")
    pace = Pace.of({name: PROGRESS[name] for name in few})
    assert (pace.totals, pace.left_s, pace.host) == (None, None, "")


def test_news_of_a_host_name_it() -> None:
    pace = Pace.of({**PROGRESS, "host": "b"})
    assert pace.host == "b"
    assert of_run("c", "capacity", pace) == Rate("c", "capacity", pace)
    over = EngineEnded.of({"event": "ended", "host": "b", "totals": TOTALS})
    assert of_run("c", "capacity", over) == RunEnded("c", "capacity", over)


def test_a_pool_s_report_is_of_its_hosts_and_of_nobody_else() -> None:
    one = {"host": "a", **PROGRESS}
    lost = {"host": "b", "event": "progress", "lost": True}
    pace = Pace.of({**PROGRESS, "hosts": [one, lost]})
    assert pace.parts == (Pace.of(one),)
    assert Pace.of(PROGRESS).parts is None
    assert Pace.of({**PROGRESS, "hosts": [lost]}).parts == ()


def test_a_lost_generator_is_an_event_of_no_cell() -> None:
    lost = GeneratorLost.of({"event": "lost", "host": "b", "reason": "it died"})
    assert lost == GeneratorLost("b", "it died")
    assert of_run("c", "capacity", lost) == lost
