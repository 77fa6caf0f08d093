"""The events of several engines, joined to those of one run."""

from collections.abc import Callable
from typing import Any

from factories.live import totals
from tlslab.domain.events import EngineEnded, Pace
from tlslab.lab.engine_output import Event
from tlslab.lab.generators.joint_events import JointEvents, added_totals
from tlslab.lab.store import to_json


def progress(rate: float, **more: Any) -> dict[str, Any]:
    return {
        "event": "progress", "at_s": 1.0, "completed": 10, "failed": 1, "started_per_s": rate,
        "connections_per_s": rate, "requests_per_s": rate, "in_flight": 2, "waiting": 0,
        "service": {"n": 5, "p50_ms": 1.0, "p99_ms": 2.0}, "response": None, "exchange": None,
        **more,
    }  # fmt: skip


def counted(completed: int) -> dict[str, Any]:
    data: dict[str, Any] = to_json(totals(completed, in_flight=2))
    return data


def heard(*said: tuple[str, dict[str, Any]], names: tuple[str, ...] = ("a", "b")) -> list[Event]:
    events: list[Event] = []
    joint = JointEvents(names, events.append)
    for name, event in said:
        joint.take(name, event)
    return events


def parts_of(event: Event) -> list[str] | None:
    """The hosts whose parts are in the event; None if it has no parts."""
    of: Callable[[Event], Pace | EngineEnded] = (
        Pace.of if event["event"] == "progress" else EngineEnded.of
    )
    parts = of(event).parts
    return None if parts is None else [part.host for part in parts]


def phase(name: str) -> dict[str, Any]:
    return {"event": "phase", "phase": name, "at_ns": 1}


def test_a_phase_begins_with_the_first_host_and_once() -> None:
    said = [("b", phase("warmup")), ("a", phase("warmup")), ("a", phase("measure"))]
    said += [("b", phase("measure")), ("a", phase("drain")), ("b", phase("drain"))]
    assert [event["phase"] for event in heard(*said)] == ["warmup", "measure", "drain"]
    # The last of a slower host's warm-up does not set the phase back.
    assert [e["phase"] for e in heard(("a", phase("measure")), ("b", phase("warmup")))] == [
        "measure"
    ]


def test_one_preflight_is_handed_on_and_no_sign_of_life() -> None:
    said = [(name, {"event": "preflight", "address": name}) for name in "ab"]
    events = heard(*said, ("a", {"event": "ready"}), ("a", {"event": "alive"}))
    assert events == [{"event": "preflight", "address": "a"}]


def test_progress_is_added_up_when_all_have_reported() -> None:
    assert heard(("a", progress(100))) == []
    (event,) = heard(("a", progress(100)), ("b", progress(50)))
    pace = Pace.of(event)
    assert (pace.connections_per_s, pace.in_flight, pace.failed) == (150, 4, 2)
    assert pace.service_p50_ms is None, "quantiles cannot be added"
    assert [host["host"] for host in event["hosts"]] == ["a", "b"]
    (alone,) = heard(("a", progress(100)), names=("a",))
    assert Pace.of(alone).service_p99_ms == 2.0
    assert parts_of(alone) == ["a"], "not this machine, which makes no load"


def test_a_host_that_is_late_keeps_no_other_waiting() -> None:
    events = heard(("a", progress(100)), ("a", progress(120)), ("b", progress(50)))
    assert [event["connections_per_s"] for event in events] == [100, 170]
    assert [parts_of(event) for event in events] == [["a"], ["a", "b"]]


def test_of_a_lost_host_what_it_had_done_stays_and_its_rate_goes() -> None:
    events: list[Event] = []
    joint = JointEvents(("a", "b"), events.append)
    totals = {"completed": 10, "in_flight": 2}
    joint.take("a", progress(100, totals=totals))
    joint.take("b", progress(50, totals=totals))
    joint.take("a", progress(110, totals=totals))
    assert len(events) == 1
    joint.leave("b", "it died")
    _, lost, after = events
    assert lost == {"event": "lost", "host": "b", "reason": "it died"}
    assert (after["connections_per_s"], after["completed"]) == (110, 20)
    assert after["totals"] == {"completed": 20, "in_flight": 2}
    assert after["hosts"][1]["lost"]


def test_a_host_that_is_lost_before_its_first_report_is_named_all_the_same() -> None:
    events: list[Event] = []
    joint = JointEvents(("a", "b"), events.append)
    joint.leave("b", "it died")
    assert events == [{"event": "lost", "host": "b", "reason": "it died"}]
    joint.take("a", progress(100, totals=counted(10)))
    whole = events[-1]
    assert [(host["host"], host.get("lost", False)) for host in whole["hosts"]] == [
        ("a", False), ("b", True)
    ]  # fmt: skip
    assert (whole["completed"], whole["connections_per_s"]) == (10, 100)
    assert parts_of(whole) == ["a"]


def test_totals_of_a_lost_host_are_no_second_of_the_others() -> None:
    events: list[Event] = []
    joint = JointEvents(("a", "b"), events.append)
    joint.take("a", progress(100, totals=counted(10)))
    joint.leave("a", "it died")
    joint.take("b", {"event": "ended", "at_s": 0.5, "totals": counted(7)})
    assert [event["event"] for event in events] == ["lost", "ended"]
    assert parts_of(events[-1]) == ["b"]
    assert events[-1]["totals"]["completed"] == 17


def test_a_host_that_ended_first_stays_in_the_sums_and_is_not_waited_for() -> None:
    events: list[Event] = []
    joint = JointEvents(("a", "b", "c"), events.append)
    for name in "abc":
        joint.take(name, progress(100, totals=counted(10)))
    joint.take("a", progress(90, completed=15))
    last = {"event": "ended", "at_s": 1.5, "totals": counted(16)}
    # Its report from before its end is passed on first.
    joint.take("a", last)
    joint.take("b", progress(70, completed=20, totals=counted(20)))
    joint.leave("c", "it died")
    said = [event for event in events if event["event"] == "progress"]
    assert [event["completed"] for event in said] == [30, 35, 45]
    assert [event["connections_per_s"] for event in said] == [300, 290, 70]
    assert said[2]["totals"]["completed"] == 16 + 20 + 10
    assert [parts_of(event) for event in said] == [[*"abc"], [*"abc"], ["b"]]
    joint.take("b", last)
    assert (parts_of(events[-1]), events[-1]["totals"]["completed"]) == ([*"ab"], 42)
    assert len(events) == 5


def test_totals_are_added_bucket_by_bucket() -> None:
    times = {"bounds_s": [0.1, 1.0], "counts": [1, 2, 3], "sum_s": 4.0, "count": 6}
    one = {"completed": 6, "failed": {"reset": 1}, "service": times, "response": None}
    other = {"completed": 1, "failed": {"body": 2}, "service": {**times, "counts": [0, 0, 1]}}
    whole = added_totals([one, {**other, "response": None}])
    assert whole["failed"] == {"reset": 1, "body": 2}
    assert whole["service"] == {**times, "counts": [1, 2, 4], "sum_s": 8.0, "count": 12}
    assert (whole["completed"], whole["response"]) == (7, None)


def test_a_last_report_of_all_is_added_up_as_well() -> None:
    last = {"event": "ended", "totals": {"completed": 10, "in_flight": 1}}
    (event,) = heard(("a", last), ("b", last))
    assert (event["event"], event["totals"]) == ("ended", {"completed": 20, "in_flight": 2})
    assert "completed" not in event


def test_offered_rates_are_added_and_the_longest_time_is_left() -> None:
    said = [("a", progress(9, offered_per_s=10.0, left_s=2.0))]
    (event,) = heard(*said, ("b", progress(9, offered_per_s=5.0, left_s=2.5)))
    assert (event["offered_per_s"], event["left_s"]) == (15.0, 2.5)
    (closed,) = heard(("a", progress(9, offered_per_s=None)), ("b", progress(9)))
    assert (closed["offered_per_s"], closed["left_s"]) == (None, None)
