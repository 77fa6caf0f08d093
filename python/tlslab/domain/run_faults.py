"""Faults that make a run's numbers unusable: one rule for planning and analysis."""

from collections.abc import Iterable, Mapping
from typing import Any

from tlslab.contract.record import FailureReason, Outcomes, RunRecord
from tlslab.domain.finding import Note
from tlslab.domain.run_record import failures, is_balanced, mismatches, reasons_of
from tlslab.domain.trial import RunKind, Trial

# One connection in a thousand: rarer failures shift a rate by less than its uncertainty.
TROUBLE_LIMIT = 0.001

# Largest relative difference between the sum of service times and the time in flight. An absolute
# allowance in seconds is added: the time between two readings of the clock for each connection, and
# a turn of the scheduler for each worker (the engine's verdict.rs).
LITTLES_LAW_LIMIT = 0.02
CLOCK_BLUR_S = 5e-6
PREEMPTION_S = 0.01


# The engine's verdicts on several generators whose loads were not made as one, at the same time.
POOL_OBJECTIONS = ("host_lost", "not_simultaneous", "clock_moved")

HOST_LOST = "host_lost"

# The engine's verdict on a server that stopped answering, or left connections without an answer.
# These are neither completed nor failed.
STALLED = "stalled"


def host_was_lost(trial: Trial) -> bool:
    """Whether a trial has lost a generator: such a trial says nothing about the server."""
    if trial.reason is not None and trial.reason.class_ == HOST_LOST:
        return True
    records = (run.record for run in trial.runs.values())
    return any(verdict.code == HOST_LOST for record in records for verdict in record.verdicts)


def usable(trial: Trial, kind: RunKind) -> bool:
    """Whether a trial has this run with usable numbers."""
    run = trial.runs.get(kind)
    return run is not None and not list(run_faults(kind, run.record))


def run_faults(kind: str, record: RunRecord) -> Iterable[Note]:
    """The faults that make a run's numbers unusable; `kind` is the run's name in the trial."""
    outcomes = record.outcomes
    ended = outcomes.completed + failures(outcomes) + mismatches(outcomes)
    if any(verdict.code == "interrupted" for verdict in record.verdicts):
        yield Note("interrupted", values={"run": kind})
    for verdict in record.verdicts:
        if verdict.code in (*POOL_OBJECTIONS, STALLED):
            yield Note(verdict.code, values={"run": kind, "message": verdict.message})
    if not is_balanced(outcomes):
        yield Note("accounting", values={"run": kind, "attempts": outcomes.attempts})
    if record.seconds <= 0 or (
        record.requests == 0 if kind == "keep_alive" else outcomes.completed == 0
    ):
        yield Note("nothing_completed", values={"run": kind, "attempts": outcomes.attempts})
        return
    ended = ended or outcomes.attempts  # Connections that are kept open do not end.
    if mismatches(outcomes) > TROUBLE_LIMIT * ended:
        yield Note(
            "unexpected", values={"run": kind, "classes": _classes(outcomes.unexpected, outcomes)}
        )
    if failures(outcomes) > TROUBLE_LIMIT * ended:
        yield Note("failures", values={"run": kind, "classes": _classes(outcomes.failed, outcomes)})
    if (note := _littles_law(kind, record)) is not None:
        yield note


def _classes(counts: Mapping[str, int], outcomes: Outcomes) -> list[dict[str, Any]]:
    """Each class with its count, and its most frequent reason with that one's count, if any."""
    items = sorted(counts.items(), key=lambda item: -item[1])
    return [
        {"class": name, "count": count, "reason": reason.reason, "of_them": reason.count}
        for name, count in items
        for reason in reasons_of(outcomes, name)[:1] or [FailureReason(name, "", 0)]
    ]


def _littles_law(kind: str, record: RunRecord) -> Note | None:
    """The fault of a run whose service times do not add up to the time in flight; None if they do.

    Each completed connection has a service time. The sum of service times is compared with a count
    over time: the integral of the number in flight over the measurement, less the parts that belong
    to other connections. The equality is an identity, whatever the server does: a connection that
    starts before the measurement or outlasts it contributes to both sides with the same part. Not
    checked for records of earlier versions, which lack the counts, and with a lost generator, whose
    times are not known.
    """
    service, flight = record.summaries.get("service"), record.flight
    if service is None or flight is None or any(host.lost for host in record.hosts):
        return None
    outcomes = record.outcomes
    if service.n != outcomes.completed:
        values = {"run": kind, "completed": outcomes.completed, "times": service.n}
        return Note("littles_law", values=values)
    found = service.n * service.mean_ms / 1000
    flown = flight.within_s + flight.before_s - flight.troubled_s - flight.unfinished_s
    blur = CLOCK_BLUR_S * outcomes.attempts + PREEMPTION_S * max(len(record.workers), 1)
    if abs(found - flown) <= LITTLES_LAW_LIMIT * max(flown, 0.0) + blur:
        return None
    return Note("littles_law", values={"run": kind, "in_flight_s": flown, "service_s": found})
