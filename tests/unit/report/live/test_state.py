"""The state of a run in progress."""

from dataclasses import replace
from pathlib import Path

from factories.live import Watched, pace, totals
from factories.run import made_run
from tlslab.domain import events
from tlslab.domain.capacity import Step
from tlslab.domain.plan import Plan
from tlslab.domain.workload import Window
from tlslab.report.live.hosts import Key
from tlslab.report.live.state import HISTORY, step_words

SECONDS = [pace(float(second), totals(100 * second, second, 4)) for second in (1, 2, 3)]


def test_before_the_first_second_nothing_is_claimed() -> None:
    now = Watched().state.snapshot()
    assert (now.hosts, now.point, now.left_s, now.progress, now.failed) == (
        (),
        None,
        None,
        None,
        {},
    )


def test_a_second_has_rates_times_and_both_sides_processors() -> None:
    watched = Watched()
    watched.start()
    watched.seconds(SECONDS)
    now = watched.state.snapshot()
    assert (now.experiment, now.target, now.cell) == ("groups", "nginx", "X25519")
    (host,) = now.hosts
    assert (host.name, host.offered, host.completed, host.in_flight) == ("bed", 105.0, 100.0, 4)
    assert (now.times, host.p50_ms, host.p99_ms) == ("response", 1.5, 6.25)
    assert now.point is not None
    assert (now.point.t, now.point.server, now.point.offered) == (3.0, 0.83, 105.0)
    # 100 connections in this second, 400 µs each; one failed.
    assert now.point.generator == 0.04
    assert now.point.failed == 1.0
    assert (now.arrivals, now.completed, now.failed) == (307, 300, {"reset": 3})
    assert now.progress is not None
    assert now.progress.done == 0
    # 4 s are planned for each trial; 3 s of the first have passed.
    assert now.left_s == 4.0 * now.progress.planned - 3.0


def test_a_closed_loop_shows_service_times_and_kept_connections_request_times() -> None:
    watched = Watched()
    closed = replace(pace(1.0, totals(10, open_loop=False)), offered_per_s=None)
    watched.seconds([closed])
    assert watched.state.snapshot().times == "service"
    kept = replace(closed, at_s=2.0, service_p50_ms=None, service_p99_ms=None)
    watched.seconds([kept])
    now = watched.state.snapshot()
    assert (now.times, now.hosts[0].offered) == ("request", None)


def test_hosts_are_added_but_for_percentiles() -> None:
    watched = Watched()
    slow = replace(pace(1.0, totals(50), 50.0, "b"), response=events.Percentiles(2.0, 30.0))
    watched.state.take(events.Rate("c", "load", pace(1.0, totals(100), 100.0, "a")))
    watched.state.take(events.Rate("c", "load", slow))
    now = watched.state.snapshot()
    assert [host.name for host in now.hosts] == ["a", "b"]
    assert now.point is not None
    assert (now.point.completed, now.point.p99_ms, now.completed) == (150.0, 30.0, 150)
    assert len(watched.state.history()) == 1
    assert set(watched.state.series()) == {Key("a", "c", "load"), Key("b", "c", "load")}


def test_a_host_that_does_not_report_is_silent() -> None:
    watched = Watched()
    watched.state.take(events.Rate("c", "load", pace(1.0, totals(100), 100.0, "a")))
    for second in range(1, 6):
        watched.clock.now += 1
        said = pace(float(second), totals(100 * second), 100.0, "b")
        watched.state.take(events.Rate("c", "load", said))
    silent = {host.name: host.silent_s for host in watched.state.snapshot().hosts}
    assert silent == {"a": 5.0, "b": 0.0}


def test_a_lost_host_adds_nothing_any_more_and_stays_named_until_it_makes_load() -> None:
    watched = Watched()
    for host in ("a", "b"):
        watched.state.take(events.Rate("c", "load", pace(1.0, totals(100), 100.0, host)))
    watched.state.take(events.GeneratorLost("b", "it died"))
    # A generator that had reported nothing yet.
    watched.state.take(events.GeneratorLost("c", "no route"))
    watched.clock.now += 1
    watched.state.take(events.Rate("c", "load", pace(2.0, totals(250), 150.0, "a")))
    now = watched.state.snapshot()
    assert [host.name for host in now.hosts] == ["a"]
    assert [(lost.host, lost.reason) for lost in now.lost] == [("b", "it died"), ("c", "no route")]
    assert now.point is not None
    assert now.point.completed == 150.0
    # Its work until then counts.
    assert now.completed == 350
    watched.state.take(events.TrialStarted(1, "c"))
    assert [lost.host for lost in watched.state.snapshot().lost] == ["b", "c"]
    watched.state.take(events.Rate("c", "load", pace(1.0, totals(10), 10.0, "b")))
    assert [lost.host for lost in watched.state.snapshot().lost] == ["c"]


def test_a_pool_of_which_one_host_reports_is_not_this_machine() -> None:
    watched = Watched()
    one = pace(1.0, totals(100), 100.0, "a")
    for parts in ((one,), (one, replace(one, host="b"))):
        watched.seconds([replace(one, host="", parts=parts)])
    assert set(watched.state.series()) == {Key(name, "X25519", "capacity") for name in ("a", "b")}
    assert watched.state.snapshot().completed == 200


def test_between_trials_nothing_is_in_flight_and_counts_stay() -> None:
    watched = Watched()
    watched.start()
    watched.seconds(SECONDS)
    watched.state.take(
        events.RunEnded("X25519", "capacity", events.EngineEnded("", totals(350, 4)))
    )
    assert watched.state.snapshot().hosts == ()
    trial = made_run(quick=True).trials[0]
    watched.state.take(events.TrialEnded(trial))
    now = watched.state.snapshot()
    assert (now.cell, now.hosts, now.completed) == ("", (), 350)
    assert now.progress is not None
    assert now.progress.done == 1
    watched.seconds(SECONDS)
    assert [point.run for point in watched.state.history()] == [1, 1, 1, 2, 2, 2]
    assert watched.state.snapshot().completed == 650


def test_a_run_of_less_than_a_second_is_one_point() -> None:
    watched = Watched()
    over = events.EngineEnded("", totals(200, 4, 6), 0.4)
    watched.state.take(events.RunEnded("X25519", "capacity", over))
    now = watched.state.snapshot()
    assert now.point is not None
    assert (now.point.completed, now.point.offered, now.point.failed) == (500.0, 525.0, 10.0)
    assert (now.point.p99_ms, now.hosts, now.completed) == (None, (), 200)
    # A run whose seconds were shown is not drawn again.
    watched.seconds(SECONDS)
    watched.state.take(
        events.RunEnded("X25519", "capacity", events.EngineEnded("", totals(350), 3.2))
    )
    assert [point.run for point in watched.state.history()] == [1, 2, 2, 2]
    assert watched.state.snapshot().completed == 550


def test_steps_of_a_capacity_experiment_are_a_plan_of_their_own() -> None:
    watched = Watched()
    plan = Plan(1, 1, (), (), ())
    left = events.Left(2, 8, 40.0)
    watched.state.take(events.StepsStarted(plan, "nginx", Path("runs/x"), left))
    step = Step("open_loop", 1, 0, 64, Window(0, 1000), rate=2400)
    assert step_words(step) == "open loop, 2,400/s"
    assert step_words(replace(step, rate=None, stage="search")) == "search, 64 at once"
    watched.state.take(events.StepStarted("c", step, events.Left(3, 7, 35.0)))
    watched.clock.now += 5
    now = watched.state.snapshot()
    assert (now.stage, now.left_s) == ("open loop, 2,400/s", 30.0)
    assert now.progress is not None
    assert (now.progress.done, now.progress.planned, now.progress.at_most) == (3, 10, True)


def test_a_single_run_knows_its_own_end() -> None:
    watched = Watched()
    watched.seconds(SECONDS[:1])
    watched.clock.now += 2
    assert watched.state.snapshot().left_s == 27.0
    watched.state.finish("valid", "r.html")
    watched.state.finish("the program has ended")
    now = watched.state.snapshot()
    assert now.ended is not None
    assert (now.left_s, now.ended.words, now.ended.report) == (None, "valid", "r.html")


def test_memory_is_bounded() -> None:
    watched = Watched()
    watched.seconds([pace(float(s), totals(s)) for s in range(1, HISTORY + 50)])
    assert len(watched.state.history()) == HISTORY


def test_each_of_several_generators_is_followed() -> None:
    watched = Watched()
    watched.start()
    for second in (1, 2):
        parts = tuple(
            replace(pace(float(second), totals(100 * second)), host=name)
            for name in ("east", "west")
        )
        watched.seconds([replace(parts[0], host="", parts=parts, server_processors=0.5)])
    now = watched.state.snapshot()
    assert [host.name for host in now.hosts] == ["east", "west"]
    assert now.completed == 400
    assert now.point is not None
    assert (now.point.completed, now.point.server) == (200.0, 0.5)
    over = tuple(events.EngineEnded(name, totals(250), 2.5) for name in ("east", "west"))
    watched.state.take(
        events.RunEnded("X25519", "capacity", events.EngineEnded("", None, parts=over))
    )
    assert watched.state.snapshot().completed == 500
