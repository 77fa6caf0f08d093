"""The values of single trials."""

from dataclasses import replace

import pytest

from factories.run import World, made_run
from tlslab.analysis.measures import (
    Processors,
    client_busy,
    not_measurable,
    server_busy,
    server_lost,
    trial_values,
)
from tlslab.contract.record import CpuTime
from tlslab.domain.estimates import quantity
from tlslab.domain.trial import RunKind, Trial, TrialRun

ONE = Processors((0,), (1,))


def _with_responses(trial: Trial, *lengths: int) -> Trial:
    """A trial whose connections saw OCSP responses of these lengths, equally often."""
    runs: dict[RunKind, TrialRun] = {}
    for kind, run in trial.runs.items():
        (facts,) = run.record.facts
        seen = tuple(replace(facts, ocsp_response_bytes=length) for length in lengths)
        runs[kind] = replace(run, record=replace(run.record, facts=seen))
    return replace(trial, runs=runs)


def test_the_length_of_a_stapled_response_is_the_mean_over_full_handshakes() -> None:
    trial = made_run(World(), quick=True).trials[0]
    assert "ocsp_response_bytes" not in trial_values(trial, ONE, None)
    assert trial_values(_with_responses(trial, 282), ONE, None)["ocsp_response_bytes"] == 282
    assert trial_values(_with_responses(trial, 282, 284), ONE, None)["ocsp_response_bytes"] == 283
    # A resumed handshake has no response, and is not part of the mean.
    mixed = _with_responses(trial, 282, 0)
    run = mixed.runs["capacity"]
    full, resumed = run.record.facts
    facts = (full, replace(resumed, kind="resumed"))
    record = replace(run.record, facts=facts)
    mixed = replace(mixed, runs={"capacity": replace(run, record=record)})
    assert trial_values(mixed, ONE, None)["ocsp_response_bytes"] == 282


def _stolen_from(run: TrialRun, server: float, generator: float) -> TrialRun:
    """Ten seconds in which each side used half of its processor, and lost these shares of it."""
    assert run.server is not None
    used = replace(run.server, user_us=5_000_000, system_us=0, seconds=10.0)
    each = run.machine.per_processor[0]
    lost = tuple(replace(each, steal=share) for share in (server, generator))
    worker = replace(
        run.record.workers[0], cpu=CpuTime(5_000_000, 0), seconds=10.0, stolen=generator
    )
    return replace(
        run,
        server=used,
        machine=replace(run.machine, seconds=10.0, per_processor=lost),
        record=replace(run.record, workers=(worker,)),
    )


@pytest.mark.parametrize(
    ("stolen", "server", "generator"), [(0.0, 0.5, 0.5), (0.001, 0.5, 0.5), (0.251, 2 / 3, 0.6676)]
)
def test_a_side_is_as_busy_as_the_hypervisor_lets_it(
    stolen: float, server: float, generator: float
) -> None:
    run = made_run(World(), quick=True).trials[0].runs["capacity"]
    mine = _stolen_from(run, server=stolen, generator=0.0)
    # A tick of 10 ms may be less than a whole one.
    assert server_busy(mine, ONE) == pytest.approx(server)
    assert client_busy(mine) == pytest.approx(0.5)
    theirs = _stolen_from(run, server=0.0, generator=stolen)
    assert server_busy(theirs, ONE) == pytest.approx(0.5)
    assert client_busy(theirs) == pytest.approx(generator, abs=1e-3)


def test_a_side_that_uses_more_than_was_left_is_busy_all_the_time() -> None:
    run = made_run(World(), quick=True).trials[0].runs["capacity"]
    lost = _stolen_from(run, server=0.7, generator=0.7)
    assert server_busy(lost, ONE) == client_busy(lost) == 1.0
    nothing = replace(lost.record.workers[0], cpu=CpuTime(0, 0), stolen=1.0)
    assert client_busy(replace(lost, record=replace(lost.record, workers=(nothing,)))) == 0.0


def test_a_server_loses_what_others_had_and_its_quota_withheld() -> None:
    run = made_run(World(), quick=True).trials[0].runs["capacity"]
    assert run.server is not None
    each = replace(run.machine.per_processor[0], busy=0.9, irq=0.05, softirq=0.05)
    server = replace(run.server, user_us=5_000_000, system_us=0, seconds=10.0)
    machine = replace(run.machine, seconds=10.0, per_processor=(each, each))

    def lost(queued_us: int | None, throttled_us: int | None = None) -> float:
        found = replace(server, queued_us=queued_us, throttled_us=throttled_us)
        return server_lost(replace(run, server=found, machine=machine), ONE)

    assert lost(None) == 0.0
    assert lost(1_000_000) == pytest.approx(0.1)
    # Its threads wait for each other as well: others had 0.4 of the processor, 0.1 in interrupts.
    assert lost(60_000_000) == pytest.approx(0.3)
    assert lost(60_000_000, 2_000_000) == pytest.approx(0.5)


def test_full_handshakes_beside_the_load_leave_no_rate_and_no_cost_of_resumed_ones() -> None:
    trial = made_run(World(), quick=True).trials[0]

    def with_refills(share: float) -> Trial:
        runs: dict[RunKind, TrialRun] = {}
        for kind, run in trial.runs.items():
            number = int(share * run.record.outcomes.completed)
            kinds = replace(run.record.kinds, refill_connections=number)
            runs[kind] = replace(run, record=replace(run.record, kinds=kinds))
        return replace(trial, runs=runs)

    known = trial_values(trial, ONE, None)
    assert trial_values(with_refills(0.005), ONE, None) == known
    left = trial_values(with_refills(0.5), ONE, None)
    assert left == {
        name: value
        for name, value in known.items()
        if quantity(name).dimension not in ("rate", "cost", "efficiency")
    }
    assert {"wire_bytes_per_handshake", "service_ms_p99"} & set(known) <= set(left)
    assert set(not_measurable([with_refills(0.5)])) >= {"server_cpu_us_per_connection"}
    assert not_measurable([trial]) == {}
