"""Several hosts as one generator: they start together, and a lost one leaves no smaller sum."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

from factories.hosts import HERE, FakeHost, now_ns
from tlslab.contract.record import HostFound
from tlslab.domain.errors import CannotRunError, EngineError, NoGeneratorError, UsageError
from tlslab.lab.engine_output import Event
from tlslab.lab.generators import joint_run, several
from tlslab.lab.generators.joint_run import LostPolicy
from tlslab.lab.generators.merging import LostShare
from tlslab.lab.generators.pool import LostInRunError
from tlslab.lab.generators.several import SeveralHosts

SPEC: dict[str, Any] = {
    "url": "https://127.0.0.1:1/",
    "connections": 10,
    "warmup_ms": 0,
    "stop": {"duration_ms": 4000},
}
MS = 1_000_000


class Merger:
    """Takes the place of the engine's `merge`: keeps its inputs."""

    def __init__(self) -> None:
        self.records: Mapping[str, Any] = {}
        self.lost: Sequence[LostShare] = ()
        self.found: Mapping[str, HostFound] = {}

    def __call__(self, _: str, records: Any, lost: Any, found: Any) -> Any:
        self.records, self.lost, self.found = records, lost, found
        return "merged"


@pytest.fixture
def merger(monkeypatch: pytest.MonkeyPatch) -> Merger:
    """The merger; in addition, all times of seconds become tenths."""
    made = Merger()
    monkeypatch.setattr(several, "merged", made)
    for name, seconds in [("SILENT_S", 1.5), ("STUCK_S", 3.0), ("WAIT_S", 0.02), ("CLOCK_S", 0.03)]:
        monkeypatch.setattr(joint_run, name, seconds)
    monkeypatch.setattr(joint_run, "LEAD_NS", 50 * MS)
    monkeypatch.setattr(joint_run, "LOOK_S", 0.02)
    monkeypatch.setattr(joint_run, "ORDERLY_S", 0.3)
    return made


def pool(*hosts: FakeHost, policy: LostPolicy = "fail", first: int | None = None) -> SeveralHosts:
    return SeveralHosts(hosts, policy, "tlslab-load", HERE, first)


def run(
    *hosts: FakeHost, policy: LostPolicy = "fail", most: int | None = None
) -> tuple[Any, list[Event]]:
    events: list[Event] = []
    return pool(*hosts, policy=policy).run(SPEC, events.append, None, most), events


def test_all_hosts_start_at_one_instant_each_by_its_own_clock(merger: Merger) -> None:
    hosts = [FakeHost("a"), FakeHost("b", offset_ns=-7_000 * MS), FakeHost("c", offset_ns=10**18)]
    before = now_ns()
    record, events = run(*hosts)
    assert record == "merged"
    assert list(merger.records) == ["a", "b", "c"]
    starts = [host.opened[0].started for host in hosts]
    here = [start[0] - host.offset_ns for start, host in zip(starts, hosts, strict=True) if start]
    assert max(here) - min(here) < MS
    assert min(here) - before > 50 * MS, "the start lies ahead"
    unix = {start[1] for start in starts if start}
    assert len(unix) == 1
    assert abs(unix.pop() - time.time()) < 60
    assert [event["phase"] for event in events if event["event"] == "phase"] == ["measure", "drain"]
    assert all(conversation.is_closed for host in hosts for conversation in host.opened)


def test_clocks_are_read_before_during_and_after(merger: Merger) -> None:
    run(FakeHost("a"), FakeHost("b", offset_ns=3 * MS, jump_ns=40 * MS))
    steady, moved = (merger.found[name].clock for name in "ab")
    assert steady is not None
    assert moved is not None
    assert steady.readings > 3
    assert abs(moved.offset_s - 0.003) <= moved.uncertainty_s
    assert steady.moved_s < 0.001 < 0.03 < moved.moved_s


def test_the_load_is_shared_out_by_what_machines_make_in_memory(merger: Merger) -> None:
    fast = FakeHost("fast", boot_id="x", speed=3000.0, processors=(0,))
    slow = FakeHost("slow", boot_id="y", speed=1000.0, processors=(0,))
    several_hosts = pool(fast, slow)
    for _ in range(2):
        several_hosts.run(SPEC, lambda event: None)
    assert [host.opened[0].spec["connections"] for host in (fast, slow)] == [7, 3]
    assert merger.found["fast"].handshakes_per_s == 3000.0
    assert len(fast.asked) == 1, "the pre-test is made once"


def test_a_host_that_dies_fails_the_trial_and_ends_the_others(merger: Merger) -> None:
    hosts = [FakeHost("a", seconds=1000), FakeHost("b", dies_after=2)]
    with pytest.raises(LostInRunError, match="the generator b was lost: it died") as caught:
        run(*hosts)
    assert caught.value.class_ == "host_lost"
    assert hosts[0].opened[0].is_interrupted
    assert hosts[0].opened[0].is_closed


def test_a_failed_run_leaves_what_was_measured_until_then(merger: Merger) -> None:
    with pytest.raises(LostInRunError, match="completed 200 connections, and had 2") as caught:
        run(FakeHost("a", seconds=1000), FakeHost("b", dies_after=3), FakeHost("c", seconds=1000))
    record: Any = caught.value.record
    assert record == "merged"
    assert list(merger.records) == ["a", "c"]
    (lost,) = merger.lost
    assert (lost.name, lost.lost.reason, lost.lost.totals.completed) == ("b", "it died", 200)
    assert set(merger.found) == {"a", "b", "c"}


def test_where_all_are_lost_the_last_totals_are_said(merger: Merger) -> None:
    with pytest.raises(LostInRunError, match="completed 100 connections, and had 2") as caught:
        run(FakeHost("a", dies_after=2))
    assert caught.value.record is None
    assert not merger.records


def test_records_that_cannot_be_merged_are_no_second_fault(
    merger: Merger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise EngineError("merge", "they differ")

    monkeypatch.setattr(several, "merged", refuse)
    with pytest.raises(LostInRunError, match="b was lost") as caught:
        run(FakeHost("a", seconds=1000), FakeHost("b", dies_after=2))
    assert caught.value.record is None


def test_a_host_that_dies_is_kept_with_its_last_words(merger: Merger) -> None:
    hosts = [FakeHost("a"), FakeHost("b", dies_after=3), FakeHost("c")]
    events: list[Event] = []
    several_hosts = pool(*hosts, policy="keep")
    several_hosts.run(SPEC, events.append)
    assert list(merger.records) == ["a", "c"]
    (lost,) = merger.lost
    assert (lost.name, lost.lost.reason) == ("b", "it died")
    assert (lost.lost.totals.completed, lost.lost.totals.in_flight) == (200, 2)
    assert lost.lost.at_s > 0
    assert lost.spec["connections"] == 3
    assert merger.found["b"].boot_id == HERE
    # Later runs continue with the other hosts, and the sum of the rates is theirs.
    assert several_hosts.size == 2
    assert [e["connections_per_s"] for e in events if e["event"] == "progress"][-1] == 200
    several_hosts.run(SPEC, lambda event: None)
    assert (len(hosts[1].opened), list(merger.records), merger.lost) == (1, ["a", "c"], [])


@pytest.mark.parametrize(
    ("harm", "rest"),
    [({"dies_after": 2}, ["a", "b"]), ({"freezes_after": 2, "cut_off": True}, ["a"])],
)
def test_after_a_failed_trial_the_hosts_that_answer_go_on(
    merger: Merger, harm: dict[str, Any], rest: list[str]
) -> None:
    lost = FakeHost("b", **harm)
    several_hosts = pool(FakeHost("a"), lost)
    with pytest.raises(EngineError, match="the generator b was lost") as caught:
        several_hosts.run(SPEC, lambda event: None)
    assert caught.value.class_ == "host_lost"
    lost.dies_after = None
    several_hosts.run(SPEC, lambda event: None)
    assert list(merger.records) == rest


@pytest.mark.parametrize("cut_off", [False, True])
def test_a_host_that_says_nothing_any_more_is_lost(merger: Merger, cut_off: bool) -> None:
    frozen = FakeHost("b", freezes_after=2, cut_off=cut_off)
    run(FakeHost("a"), frozen, policy="keep")
    (lost,) = merger.lost
    assert "said nothing" in lost.lost.reason or "cannot be reached" in lost.lost.reason
    assert lost.lost.totals.completed == 100


LOSSES: dict[str, tuple[dict[str, Any], str]] = {
    "before the load": ({"unreachable": "open"}, "no route"),
    "before its first report": ({"dies_after": 1}, "it died"),
    "in the middle": ({"dies_after": 3}, "it died"),
}


@pytest.mark.parametrize("policy", ["fail", "keep"])
@pytest.mark.parametrize("when", LOSSES)
def test_whoever_watches_hears_of_a_loss_whenever_it_is(
    merger: Merger, when: str, policy: LostPolicy
) -> None:
    harm, reason = LOSSES[when]
    events: list[Event] = []
    with suppress(EngineError):
        pool(FakeHost("a"), FakeHost("b", **harm), policy=policy).run(SPEC, events.append)
    (lost,) = (event for event in events if event["event"] == "lost")
    assert (lost["host"], lost["reason"]) == ("b", reason)
    if when != "before the load" and policy == "keep":
        last = [event for event in events if event["event"] == "progress"][-1]
        assert {host["host"]: host.get("lost", False) for host in last["hosts"]} == {
            "a": False,
            "b": True,
        }


def test_when_all_are_lost_nothing_is_kept(merger: Merger) -> None:
    several_hosts = pool(FakeHost("a", dies_after=1), FakeHost("b", dies_after=2), policy="keep")
    with pytest.raises(EngineError) as caught:
        several_hosts.run(SPEC, lambda event: None)
    assert caught.value.class_ == "host_lost"
    assert several_hosts.size == 0
    assert not merger.records


QUESTIONS: dict[str, Callable[[SeveralHosts], Any]] = {
    "run": lambda hosts: hosts.run(SPEC, lambda event: None),
    "preflight": lambda hosts: hosts.preflight(SPEC),
    "probe": lambda hosts: hosts.probe(SPEC),
    "primitives": lambda hosts: hosts.primitives(["--group", "X25519"]),
    "in_memory": lambda hosts: hosts.in_memory([]),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_nobody_asks_a_pool_without_hosts(merger: Merger, question: str) -> None:
    with pytest.raises(NoGeneratorError, match="all load generators were lost"):
        QUESTIONS[question](pool())


@pytest.mark.parametrize("question", [each for each in QUESTIONS if each != "run"])
def test_a_host_that_does_not_answer_a_question_is_left_out(merger: Merger, question: str) -> None:
    several_hosts = pool(FakeHost("a", unreachable="ask"), FakeHost("b"))
    with pytest.raises(EngineError, match="the generator a was lost: no route") as caught:
        QUESTIONS[question](several_hosts)
    assert caught.value.class_ == "host_lost"
    assert [host.facts.name for host in several_hosts.hosts] == ["b"]


def test_a_preflight_leaves_out_all_that_do_not_answer(merger: Merger) -> None:
    lost = [FakeHost(name, unreachable="ask") for name in "abc"]
    several_hosts = pool(*lost, FakeHost("d"))
    with pytest.raises(EngineError, match="the generator a was lost"):
        several_hosts.preflight(SPEC)
    assert [host.facts.name for host in several_hosts.hosts] == ["d"]


def test_a_refusal_of_one_engine_names_its_host(merger: Merger) -> None:
    refused = EngineError("target_refused", "refused to load it", "--allow HOST")
    hosts = [FakeHost("a"), FakeHost("b", refuses=refused)]
    with pytest.raises(EngineError, match="b: refused to load it") as caught:
        run(*hosts)
    assert (caught.value.class_, caught.value.remedy) == ("target_refused", "--allow HOST")
    assert hosts[0].opened[0].started is None, "nobody makes load"
    failed = EngineError("late_start", "the instant had passed")
    with pytest.raises(EngineError, match="b: the instant had passed"):
        run(FakeHost("a"), FakeHost("b", fails=failed), policy="keep")


def test_a_refusal_in_a_preflight_names_its_host(merger: Merger) -> None:
    refused = EngineError("target_refused", "refused to load it", "--allow HOST")
    hosts = [FakeHost("a"), FakeHost("b", refuses=refused)]
    with pytest.raises(EngineError, match=r"^b: refused to load it$") as caught:
        pool(*hosts).preflight(SPEC)
    assert (caught.value.class_, caught.value.remedy) == ("target_refused", "--allow HOST")
    with pytest.raises(EngineError, match=r"^refused to load it$"):
        pool(hosts[1]).preflight(SPEC)


def test_a_host_that_cannot_be_reached_before_the_load_is_left_out(merger: Merger) -> None:
    for unreachable in ("open", "ask"):
        hosts = [FakeHost("a", boot_id="x"), FakeHost("b", boot_id="y", unreachable=unreachable)]
        several_hosts = pool(*hosts, policy="keep")
        with pytest.raises(EngineError, match="b was lost before the load: no route") as caught:
            several_hosts.run(SPEC, lambda event: None)
        assert caught.value.class_ == "host_lost"
        several_hosts.run(SPEC, lambda event: None)
        assert list(merger.records) == ["a"]


def test_a_fault_of_a_host_s_own_is_no_silence(merger: Merger) -> None:
    host = FakeHost("b")
    host.now_ns = lambda: 1 // (0 if host.opened else 1)  # type: ignore[method-assign]
    with pytest.raises(EngineError, match="b: ZeroDivisionError"):
        run(FakeHost("a"), host)


def test_an_interruption_from_outside_keeps_what_was_measured(merger: Merger) -> None:
    hosts = [FakeHost("a", seconds=1000), FakeHost("b", seconds=1000)]
    several_hosts = pool(*hosts)

    def interrupt(event: Event) -> None:
        if event["event"] == "progress":
            several_hosts.interrupt()

    several_hosts.run(SPEC, interrupt)
    assert list(merger.records) == ["a", "b"]
    several_hosts.interrupt()


def test_fewer_hosts_where_there_is_less_to_do(merger: Merger) -> None:
    hosts = [FakeHost("a"), FakeHost("b"), FakeHost("c")]
    run(*hosts, most=2)
    assert list(merger.records) == ["a", "b"]
    few = {**SPEC, "connections": 1}
    pool(*hosts).run(few, lambda event: None)
    assert list(merger.records) == ["a"]


def test_an_interruption_ends_all_hosts(merger: Merger) -> None:
    hosts = [FakeHost("a", seconds=1000), FakeHost("b", seconds=1000)]

    def interrupt(event: Event) -> None:
        if event["event"] == "progress":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool(*hosts).run(SPEC, interrupt)
    assert all(host.opened[0].is_closed for host in hosts)


def test_hosts_of_one_name_and_holding_by_hosts_are_refused(merger: Merger) -> None:
    with pytest.raises(UsageError, match="the same name"):
        pool(FakeHost("a"), FakeHost("a"))
    with pytest.raises(CannotRunError, match="held by one generator"):
        pool(FakeHost("a")).hold(SPEC, [1], 1.0, lambda event: None)


def test_a_pool_is_closed_with_its_hosts(merger: Merger) -> None:
    host = FakeHost("a")
    with pool(host, first=1) as several_hosts:
        assert (several_hosts.size, several_hosts.first) == (1, 1)
    assert host.is_closed


def test_a_processor_of_this_machine_means_nothing_elsewhere(merger: Merger) -> None:
    far = FakeHost("far", boot_id="elsewhere", processors=(0, 5))
    near = FakeHost("near")
    for host, processor in [(far, "5"), (near, "1")]:
        with pytest.raises(KeyError):
            pool(host).primitives(["--time", "8ms", "--cpu", "1", "--group", "X25519"])
        line = host.asked[0]
        assert line[line.index("--cpu") + 1] == processor
