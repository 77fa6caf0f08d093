"""Values that several stages derive from a record of the engine."""

from collections.abc import Mapping

from tlslab.contract.record import (
    ClientTimes,
    CpuTime,
    FailureReason,
    Outcomes,
    RunRecord,
    TimeSummary,
    Users,
    Verdict,
    WorkerUsage,
)

# The engine's verdicts on workers that were ready and did not run: so much of the time that rates
# are lower bounds, or that the figures may not be used.
DELAYED, STARVED = "client_delayed", "client_starved"


def total_us(cpu: CpuTime) -> int:
    """User and system time together."""
    return cpu.user_us + cpu.system_us


def failures(outcomes: Outcomes) -> int:
    """All failed connections."""
    return sum(outcomes.failed.values())


def mismatches(outcomes: Outcomes) -> int:
    """All connections whose handshake was not the one asked for."""
    return sum(outcomes.unexpected.values())


def reasons_of(outcomes: Outcomes, class_: str) -> tuple[FailureReason, ...]:
    """The reasons of a class of failures or of unexpected handshakes, most frequent first."""
    return tuple(reason for reason in outcomes.reasons if reason.class_ == class_)


def is_balanced(outcomes: Outcomes) -> bool:
    """Whether attempts = completed + failed + unexpected + abandoned + in flight + lost, exactly.

    And whether the reasons of each class that has any add up to it.
    """
    ended = outcomes.completed + failures(outcomes) + mismatches(outcomes)
    counts = {**outcomes.unexpected, **outcomes.failed}
    whole = all(
        sum(reason.count for reason in reasons_of(outcomes, name)) == counts.get(name, 0)
        for name in {reason.class_ for reason in outcomes.reasons}
    )
    return whole and outcomes.attempts == (
        ended + outcomes.abandoned + outcomes.in_flight_at_stop + outcomes.lost_with_host
    )


def decided(users: Users) -> int:
    """The users whose wait ended in the measurement, one way or another."""
    return users.arrived - users.unfinished


def load_histograms(record: RunRecord) -> Mapping[str, str]:
    """Histograms of the client that carried the load, the one with the most connections.

    Beside it the library makes one connection in 128, and takes longer over it: in `histograms`
    these are the tail. What is no client's (`start_delay`) is that of all connections.
    """
    client = _load_client(record)
    return {**record.histograms, **client.histograms} if client else record.histograms


def load_summaries(record: RunRecord) -> Mapping[str, TimeSummary]:
    """The same in short."""
    client = _load_client(record)
    return {**record.summaries, **client.summaries} if client else record.summaries


def _load_client(record: RunRecord) -> ClientTimes | None:
    return max(record.clients.values(), key=lambda client: client.connections, default=None)


def generator_busy(record: RunRecord) -> float:
    """The share of the time left to them for which the busiest workers computed; 0 without any.

    Records of earlier engines have no such share: it is that of the busiest worker alone.
    """
    if record.busy is not None:
        return record.busy
    return max((_busy(worker) for worker in record.workers if worker.seconds > 0), default=0.0)


def _busy(worker: WorkerUsage) -> float:
    """The share of the time left by the hypervisor for which the worker computed."""
    used = total_us(worker.cpu) / (worker.seconds * 1e6)
    # The two shares do not begin and end at the same instants.
    left = max(1 - (worker.stolen or 0.0), min(used, 1.0))
    return used / left if left > 0 else 0.0


def time_lost(record: RunRecord) -> Verdict | None:
    """The engine's verdict on time that the generator lost; None if it did not matter."""
    lost = (verdict for verdict in record.verdicts if verdict.code in (DELAYED, STARVED))
    return max(lost, key=lambda verdict: verdict.code == STARVED, default=None)
