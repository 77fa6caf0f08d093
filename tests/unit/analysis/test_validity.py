"""Which trials count, and the reasons for those that do not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from factories.capacity import made_by
from factories.run import World, made_run
from factories.worded import summarise
from tlslab.analysis import validity
from tlslab.analysis.measures import Processors
from tlslab.contract.record import (
    CommonWindow,
    CpuTime,
    FailedConnection,
    FailureReason,
    Outcomes,
    RunRecord,
    SlowConnects,
    Verdict,
)
from tlslab.domain.finding import CellSummary
from tlslab.domain.trial import Reason, ServerUsage, Trial
from tlslab.experiment import load, with_levels

KEY = "tls=1.3,key=ecdsa-p256,group=P-256"


def with_record(trial: Trial, change: Callable[[RunRecord], RunRecord]) -> Trial:
    run = trial.runs["capacity"]
    return replace(trial, runs={**trial.runs, "capacity": replace(run, record=change(run.record))})


def cell_after(change: Callable[[Trial], Trial], blocks: int = 5) -> CellSummary:
    """The cell P-256 with changed trials in the first `blocks` blocks."""

    def changed(trial: Trial) -> Trial:
        return change(trial) if trial.cell == KEY and trial.block < blocks else trial

    return summarise(made_run(World(change=changed), quick=True)).cell(KEY)


def codes(cell: CellSummary) -> list[str]:
    return [reason.code for reason in cell.reasons]


def with_outcomes(change: Callable[[Outcomes], Outcomes]) -> Callable[[Trial], Trial]:
    return lambda trial: with_record(
        trial, lambda record: replace(record, outcomes=change(record.outcomes))
    )


def moved(name: str, count: int) -> Callable[[Trial], Trial]:
    """Connections that did not complete, counted under `failed` or `unexpected`."""

    def change(record: RunRecord) -> RunRecord:
        completed = record.outcomes.completed - count
        classes: dict[str, Any] = {name: {"reset": count}}
        outcomes = replace(record.outcomes, completed=completed, **classes)
        service, flight = record.summaries["service"], record.flight
        assert flight is not None
        return replace(
            record,
            outcomes=outcomes,
            summaries={**record.summaries, "service": replace(service, n=completed)},
            flight=replace(flight, troubled_s=count * service.mean_ms / 1000),
        )

    return lambda trial: with_record(trial, change)


def test_a_run_without_fault_is_valid() -> None:
    cell = cell_after(lambda trial: trial)
    assert (cell.verdict, cell.reasons, cell.trials) == ("valid", (), 5)


def test_accounting_must_balance_exactly() -> None:
    cell = cell_after(with_outcomes(lambda o: replace(o, attempts=o.attempts + 1)))
    assert (cell.verdict, codes(cell), cell.trials) == ("invalid", ["accounting"], 0)


def test_a_note_on_failures_has_their_reasons() -> None:
    def change(outcomes: Outcomes) -> Outcomes:
        failed = {"tls_protocol": 100, "reset": 300}
        reasons = (
            FailureReason("reset", "by the server", 300),
            FailureReason("tls_protocol", "bad_record_mac", 70, (FailedConnection(40_000, ""),)),
            FailureReason("tls_protocol", "other", 30),
        )
        completed = outcomes.completed - 400
        return replace(outcomes, completed=completed, failed=failed, reasons=reasons)

    (note,) = (
        note for note in cell_after(with_outcomes(change)).reasons if note.code == "failures"
    )
    assert "reset 300: by the server, tls_protocol 100, 70 of them: bad_record_mac" in note.message


def test_reasons_that_do_not_add_up_are_a_fault_of_the_accounting() -> None:
    def change(outcomes: Outcomes) -> Outcomes:
        reasons = (FailureReason("reset", "by the server", 2),)
        return replace(
            outcomes, completed=outcomes.completed - 3, failed={"reset": 3}, reasons=reasons
        )

    assert "accounting" in codes(cell_after(with_outcomes(change)))


@pytest.mark.parametrize(("name", "code"), [("failed", "failures"), ("unexpected", "unexpected")])
def test_trouble_has_a_limit_of_one_in_a_thousand(name: str, code: str) -> None:
    assert cell_after(moved(name, 2)).verdict == "valid"
    cell = cell_after(moved(name, 30))
    assert (cell.verdict, codes(cell)) == ("invalid", [code])
    assert "reset 30" in cell.reasons[0].message


@pytest.mark.parametrize(("share", "lost"), [(0.9, 0), (1.0, 1)])
def test_littles_law_finds_wrong_and_lost_times(share: float, lost: int) -> None:
    def changed(record: RunRecord) -> RunRecord:
        service = record.summaries["service"]
        other = replace(service, mean_ms=service.mean_ms * share, n=service.n - lost)
        return replace(record, summaries={**record.summaries, "service": other})

    cell = cell_after(lambda trial: with_record(trial, changed))
    assert (cell.verdict, codes(cell)) == ("invalid", ["littles_law"])


def test_connections_that_wait_beyond_the_measurement_are_no_fault() -> None:
    """Three of four connections in flight wait all the time until their SYN is sent again."""

    def crowded(record: RunRecord) -> RunRecord:
        flight, seconds = record.flight, record.seconds
        assert flight is not None
        connections = record.spec["connections"]
        waiting = 3 * connections
        return replace(
            record,
            spec={**record.spec, "connections": connections + waiting},
            outcomes=replace(
                record.outcomes,
                attempts=record.outcomes.attempts + waiting,
                in_flight_at_stop=record.outcomes.in_flight_at_stop + waiting,
            ),
            flight=replace(
                flight,
                within_s=flight.within_s + waiting * seconds,
                before_s=flight.before_s + waiting * 0.5,
                unfinished_s=flight.unfinished_s + waiting * (seconds + 0.5),
            ),
            slow_connects=SlowConnects(waiting, 1234),
        )

    cell = cell_after(lambda trial: with_record(trial, crowded))
    assert (cell.verdict, codes(cell)) == ("valid", ["backlog"])
    assert "waited 1 s or more to connect" in cell.reasons[0].message


def test_other_connections_than_were_asked_for_are_reported() -> None:
    cell = cell_after(
        lambda t: with_record(t, lambda r: replace(r, client_fallback="why")), blocks=2
    )
    assert (cell.verdict, codes(cell)) == ("valid", ["fallback"])
    assert cell.reasons[0].values == {"why": "why", "in": 2, "of": 5}
    assert cell.reasons[0].message.startswith("2 of 5 trials: the library made all connections")

    def refilled(record: RunRecord) -> RunRecord:
        return replace(record, kinds=replace(record.kinds, refill_connections=7))

    cell = cell_after(lambda trial: with_record(trial, refilled))
    assert (cell.verdict, codes(cell)) == ("valid", ["refill"])
    assert "not those of resumed connections" in cell.reasons[0].message


def test_a_record_of_an_earlier_version_has_no_time_in_flight_to_judge_by() -> None:
    cell = cell_after(lambda trial: with_record(trial, lambda r: replace(r, flight=None)))
    assert cell.verdict == "valid"


def test_one_bad_trial_of_five_is_left_out_and_two_are_too_many() -> None:
    broken = with_outcomes(lambda o: replace(o, attempts=o.attempts + 1))
    once = cell_after(broken, blocks=1)
    assert (once.verdict, once.trials) == ("valid", 4)
    assert once.reasons[0].message.startswith("1 of 5 trials: ")
    assert once.estimates["connections_per_s"].n == 4
    assert cell_after(broken, blocks=2).verdict == "invalid"


def test_nothing_completed() -> None:
    def nothing(outcomes: Outcomes) -> Outcomes:
        return replace(outcomes, completed=0, failed={"refused": outcomes.completed})

    cell = cell_after(with_outcomes(nothing))
    assert (cell.verdict, codes(cell)) == ("invalid", ["nothing_completed"])
    assert cell.estimates == {}
    assert cell.ab is None


def busy(trial: Trial) -> Trial:
    """The generator used 99 % of its processor."""

    def change(record: RunRecord) -> RunRecord:
        cpu = CpuTime(round(record.seconds * 0.9e6), round(record.seconds * 0.09e6))
        return replace(record, cpu=cpu, workers=(replace(record.workers[0], cpu=cpu),))

    return with_record(trial, change)


def test_a_saturated_client_gives_a_lower_bound() -> None:
    cell = cell_after(busy)
    assert cell.verdict == "at_least"
    assert codes(cell) == ["client_saturated"]
    assert cell.estimates["client_busy"].value == pytest.approx(0.99)


def test_a_lower_bound_is_not_ranked_by_rate_but_by_cost() -> None:
    summary = summarise(made_run(World(change=busy), quick=True))
    assert {cell.verdict for cell in summary.cells} == {"at_least"}
    assert "connections_per_s" not in {ranking.estimate for ranking in summary.rankings}
    assert "server_cpu_us_per_connection" in {ranking.estimate for ranking in summary.rankings}
    rates = [c for c in summary.comparisons if c.estimate == "connections_per_s"]
    assert {comparison.verdict for comparison in rates} == {"not_comparable"}
    answers = [finding.text for finding in summary.findings if finding.code == "answer"]
    assert len(answers) == 1
    assert "at least" in answers[0]


def with_server(trial: Trial, change: Callable[[ServerUsage], ServerUsage], kind: str) -> Trial:
    runs = dict(trial.runs)
    for name, run in trial.runs.items():
        if name == kind and run.server is not None:
            runs[name] = replace(run, server=change(run.server))
    return replace(trial, runs=runs)


def half_idle(trial: Trial, processor_busy: float) -> Trial:
    """The server used half of its available time."""

    def idle(server: ServerUsage) -> ServerUsage:
        return replace(server, user_us=server.user_us // 2, system_us=server.system_us // 2)

    trial = with_server(with_server(trial, idle, "capacity"), idle, "client_cost")
    run = trial.runs["capacity"]
    first, *others = run.machine.per_processor
    processors = (replace(first, busy=processor_busy), *others)
    machine = replace(run.machine, per_processor=processors)
    return replace(trial, runs={**trial.runs, "capacity": replace(run, machine=machine)})


def test_neither_side_busy_is_reported() -> None:
    cell = cell_after(lambda trial: half_idle(trial, processor_busy=0.5))
    assert (cell.verdict, codes(cell)) == ("valid", ["neither_saturated"])
    assert "connections_per_s" in cell.unsaturated


def test_a_rate_at_which_neither_side_was_busy_is_not_ranked_its_cost_is() -> None:
    def change(trial: Trial) -> Trial:
        return half_idle(trial, processor_busy=0.5) if trial.cell == KEY else trial

    few = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", "P-256", "X448")}
    experiment = with_levels(load("groups"), few)
    summary = summarise(made_run(World(change=change), experiment=experiment))
    by_estimate = {ranking.estimate: ranking.cells for ranking in summary.rankings}
    assert KEY not in by_estimate["connections_per_s"]
    assert KEY in by_estimate["server_cpu_us_per_connection"]
    answer = next(f for f in summary.findings if f.code == "answer")
    assert (
        "Not ranked by rate, because neither the server nor the generator was the limit"
        in answer.text
    )
    compared = {
        c.estimate: c.verdict for c in summary.comparisons if KEY in (c.candidate, c.baseline)
    }
    assert compared["connections_per_s"] == "not_comparable"


def test_other_programs_on_the_servers_processor_are_reported() -> None:
    cell = cell_after(lambda trial: half_idle(trial, processor_busy=0.98))
    assert (cell.verdict, codes(cell)) == ("valid", ["disturbed"])
    # A server without its whole processor shows a rate that is not its own.
    assert "connections_per_s" in cell.unsaturated


def test_the_servers_cost_must_agree_between_the_two_runs() -> None:
    def dearer(server: ServerUsage) -> ServerUsage:
        return replace(server, user_us=round(server.user_us * 1.4))

    cell = cell_after(lambda trial: with_server(trial, dearer, "client_cost"))
    assert codes(cell) == ["server_cost_disagrees"]


@pytest.mark.parametrize(
    ("code", "verdict", "reasons"),
    [
        ("client_delayed", "at_least", ["client_delayed"]),
        ("client_starved", "invalid", ["client_starved"]),
    ],
)
def test_a_generator_that_was_kept_from_its_processor_decides(
    code: str, verdict: str, reasons: list[str]
) -> None:
    def change(record: RunRecord) -> RunRecord:
        return replace(record, verdicts=(Verdict(code, "a worker was ready and did not run"),))

    cell = cell_after(lambda trial: with_record(trial, change))
    assert (cell.verdict, codes(cell)) == (verdict, reasons)


def test_a_generator_that_shares_the_servers_processor_waits_for_the_server() -> None:
    run = made_run(World(), quick=True).trials[0].runs["capacity"]
    starved = (Verdict("client_starved", "a worker was ready and did not run"),)
    run = replace(run, record=replace(run.record, verdicts=starved))
    for processors in (Processors((), ()), Processors((0, 1), (1,))):
        assert list(validity.starved(run, processors)) == []
        assert validity.is_bound(run, processors)
    (fault,) = validity.starved(run, Processors((0,), (1,)))
    assert fault.code == "client_starved"


@pytest.mark.parametrize(
    ("share", "verdict", "code"),
    [
        (0.04, "valid", None),
        (0.1, "at_least", "server_delayed"),
        (0.3, "invalid", "server_starved"),
    ],
)
def test_a_server_that_was_kept_from_its_processor_decides(
    share: float, verdict: str, code: str | None
) -> None:
    def throttled(server: ServerUsage) -> ServerUsage:
        us = round(share * server.seconds * 1e6)
        return replace(server, queued_us=us, throttled_us=us)

    cell = cell_after(lambda trial: with_server(trial, throttled, "capacity"))
    assert cell.verdict == verdict
    assert code is None or code in codes(cell)


def test_stolen_time_is_reported() -> None:
    def robbed(trial: Trial) -> Trial:
        run = trial.runs["capacity"]
        machine = replace(run.machine, steal_us=round(run.machine.seconds * 0.1e6))
        return replace(trial, runs={**trial.runs, "capacity": replace(run, machine=machine)})

    assert codes(cell_after(robbed)) == ["steal"]


def test_a_rate_that_falls_in_most_trials_is_not_ranked() -> None:
    def falling(record: RunRecord) -> RunRecord:
        slices = record.intervals
        half = len(slices) // 2
        slow = [replace(each, completed=each.completed // 2) for each in slices[half:]]
        return replace(record, intervals=(*slices[:half], *slow))

    def change(trial: Trial) -> Trial:
        return with_record(trial, falling) if trial.cell == KEY else trial

    few = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", "P-256")}
    experiment = with_levels(load("groups"), few)
    summary = summarise(made_run(World(change=change), experiment=experiment))
    cell = summary.cell(KEY)
    assert (cell.verdict, codes(cell)) == ("invalid", ["slowdown"])
    assert all(KEY not in ranking.cells for ranking in summary.rankings)


def failed(class_: str) -> Callable[[Trial], Trial]:
    reason = Reason(class_, "it went wrong")
    return lambda trial: replace(trial, status="failed", reason=reason, runs={})


def test_failed_trials() -> None:
    assert cell_after(failed("timeout_handshake"), blocks=1).verdict == "valid"
    assert cell_after(failed("timeout_handshake")).verdict == "failed"


def test_a_server_that_died_is_no_server_to_measure() -> None:
    cell = cell_after(failed("server_died"), blocks=1)
    assert (cell.verdict, codes(cell)) == ("invalid", ["trial_server_died"])


def test_an_unsupported_cell_says_why() -> None:
    summary = summarise(made_run(World(unsupported=frozenset({"X448"})), quick=True))
    cell = summary.cell("tls=1.3,key=ecdsa-p256,group=X448")
    assert cell.verdict == "unsupported"
    assert cell.reasons[0].message == "the server sent the alert handshake_failure"


def test_a_refusal_after_a_trial_that_was_done_is_a_failure() -> None:
    def refused(trial: Trial) -> Trial:
        reason = Reason("closed_handshake", "the server closed the connection")
        return replace(trial, status="unsupported", reason=reason, runs={})

    cell = cell_after(refused, blocks=1)
    assert (cell.verdict, codes(cell)) == ("valid", ["trial_closed_handshake"])
    assert cell.trials == 4
    assert cell_after(refused, blocks=2).verdict == "invalid"
    assert cell_after(refused).verdict == "unsupported"


def test_an_interrupted_run_says_what_is_missing() -> None:
    contents = made_run(quick=True)
    summary = summarise(replace(contents, trials=contents.trials[:9]))
    done = {cell.key: cell.trials for cell in summary.cells}
    assert sum(done.values()) == 9
    assert all("incomplete" in codes(cell) for cell in summary.cells)
    summary = summarise(replace(contents, trials=()))
    assert {cell.verdict for cell in summary.cells} == {"failed"}
    assert {tuple(codes(cell)) for cell in summary.cells} == {("not_run",)}


@pytest.mark.parametrize(("apart_s", "noted"), [(0.0009, []), (0.0123, ["start_skew"])])
def test_generators_that_began_apart_are_noted(apart_s: float, noted: list[str]) -> None:
    def apart(record: RunRecord) -> RunRecord:
        window = CommonWindow(1e9, record.seconds - apart_s, apart_s, 1, None)
        return replace(record, common=window)

    cell = cell_after(lambda trial: with_record(trial, apart))
    assert (cell.verdict, codes(cell)) == ("valid", noted)
    assert all("up to 12.3 ms apart" in reason.message for reason in cell.reasons)


def test_measurements_of_a_failed_trial_count_nowhere() -> None:
    def failed(trial: Trial) -> Trial:
        lost = with_record(trial, lambda record: made_by(record, 2, is_lost=True))
        return replace(lost, status="failed", reason=Reason("host_lost", "b was lost"))

    assert cell_after(failed, 2) == cell_after(lambda trial: replace(failed(trial), runs={}), 2)
