"""One value of each estimate from each trial.

A function computes an estimate from a run of the engine; it has the name of the estimate's row in
`domain/estimates.py`. There is a table for each of a trial's runs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tlslab.analysis.limit import client_limit_us, server_limit_us
from tlslab.analysis.round_trips import mean_round_trips
from tlslab.contract.primitives import Primitives
from tlslab.contract.record import RunRecord
from tlslab.domain.deployment import Deployment
from tlslab.domain.estimates import (
    CLIENT_BUSY,
    CLIENT_COST,
    CLIENT_LIMIT,
    CONNECTIONS,
    CONNECTIONS_PER_CPU,
    OCSP_BYTES,
    OPEN_BYTES,
    OPEN_CLIENT_BUSY,
    OPEN_CLIENT_COST,
    OPEN_MEMORY,
    OPEN_REQUESTS,
    OPEN_SERVER_BUSY,
    OPEN_SERVER_COST,
    REQUESTS,
    ROUND_TRIPS,
    ROUND_TRIPS_RESUMED,
    SERVER_BUSY,
    SERVER_COST,
    SERVER_LIMIT,
    SERVER_MEMORY,
    WIRE_BYTES,
    Dimension,
    parts_of,
    quantity,
)
from tlslab.domain.run import Environment
from tlslab.domain.run_record import generator_busy, total_us
from tlslab.domain.trial import RunKind, Trial, TrialRun

# With a larger share of full handshakes beside the load, rates and costs are not those of resumed
# connections; and the dimensions of those estimates.
REFILL_MATTERS = 0.01
_REFILLED: tuple[Dimension, ...] = ("rate", "cost")

# The resolution of the kernel's processor times (USER_HZ; proc_stat(5)).
_TICK_S = 0.01


@dataclass(frozen=True)
class Processors:
    """The processors to which server and generator were pinned; empty if that is not known."""

    server: tuple[int, ...]
    generator: tuple[int, ...]

    @classmethod
    def of(cls, environment: Environment, deployment: Deployment | None) -> "Processors":
        """The processors of a run's cells with this deployment."""
        target = environment.target_of(deployment)
        return cls(target.processors, environment.generator_processors)

    @property
    def apart(self) -> bool:
        """Whether the generator has processors that the server does not use."""
        return bool(self.generator) and not set(self.server) & set(self.generator)

    @property
    def server_count(self) -> int:
        """The number of processors that the server may use.

        One if the lab did not start the server.
        """
        return max(1, len(self.server))


def trial_values(
    trial: Trial, processors: Processors, primitives: Primitives | None
) -> dict[str, float]:
    """The values of a finished trial, by estimate.

    Rates, bytes, memory and the server's cost come from the run with the lean client, which loads
    the server; the client's cost comes from the run with the full client. Values that the trial
    does not have are absent (a server that the lab does not account for, a run in which nothing
    completed, rates and costs of a run that was refilled).
    """
    values: dict[str, float] = {}
    for kind, table in _BY_RUN.items():
        if (run := trial.runs.get(kind)) is not None:
            found = _values(table, run, processors)
            if refilled(run.record):
                found = {n: v for n, v in found.items() if quantity(n).dimension not in _REFILLED}
            values |= found
    client, server = values.get(CLIENT_COST), values.get(SERVER_COST)
    if client is not None and server is not None and not _elsewhere(trial):
        # The rate of a host that does the work of both sides, as published studies have it.
        values[CONNECTIONS_PER_CPU] = 1e6 / (client + server)
    return values if primitives is None else values | _limit_ratios(trial, values, primitives)


def _limit_ratios(
    trial: Trial, values: Mapping[str, float], primitives: Primitives
) -> dict[str, float]:
    """The cost of each side over its physical limit, if all of the side's primitives are known."""
    found: dict[str, float] = {}
    for name, (kind, cost, limit_us) in _LIMITS.items():
        # The primitives are those of this machine.
        here = name == CLIENT_LIMIT or not _elsewhere(trial)
        if cost in values and here:
            limit = limit_us(trial.runs[kind].record, primitives)
            if limit is not None:
                found[name] = values[cost] / limit
    return found


def loading_values(run: TrialRun, processors: Processors) -> dict[str, float]:
    """The values of one run of the lean client: rates, bytes, memory, the server's cost."""
    return _values(_LOADING, run, processors)


def not_measurable(trials: Sequence[Trial]) -> dict[str, str]:
    """The reasons for missing estimates: handshakes that are no part of what was to be measured."""
    found = {}
    if any(refilled(run.record) for trial in trials for run in trial.runs.values()):
        found = dict.fromkeys(
            (CONNECTIONS, SERVER_COST, CLIENT_COST),
            "the server gives no session ticket on resumed connections: full handshakes beside the "
            "load collected the sessions to resume, and took the time of both sides",
        )
    runs = [run for trial in trials if (run := trial.runs.get("keep_alive")) is not None]
    if runs and not any(_waited(run) for run in runs):
        found[OPEN_REQUESTS] = (
            "the measurement began before all connections were open, so that handshakes may have "
            "reached into it: run it anew"
        )
    return found


def refilled(record: RunRecord) -> bool:
    """Whether full handshakes beside the load took a part of the time that matters."""
    return record.kinds.refill_connections > REFILL_MATTERS * record.outcomes.completed


def _elsewhere(trial: Trial) -> bool:
    """Whether the server ran on another machine, whose processors may be faster or slower."""
    return any(run.server and run.server.source == "node_exporter" for run in trial.runs.values())


def client_busy(run: TrialRun) -> float:
    """The share of the time left to it for which the busiest worker was computing."""
    return min(1.0, generator_busy(run.record))


def server_busy(run: TrialRun, processors: Processors) -> float | None:
    """The share of its processors' time for which the server was computing; None if unaccounted.

    Time that a hypervisor gave to other machines does not count: the server could not use it. None
    also for a server that the lab did not start: the number of its processors is not known.
    """
    if run.server is None or run.server.seconds <= 0 or run.server.source != "started":
        return None
    used_us = run.server.user_us + run.server.system_us
    # The server is metered a little longer than its seconds say; no processor is over 100 % busy.
    left = (1 - _stolen(run, processors.server)) * processors.server_count
    return min(1.0, used_us / (run.server.seconds * 1e6 * left)) if left > 0 else None


def _stolen(run: TrialRun, processors: Sequence[int]) -> float:
    """The share of these processors' time that was stolen, as a lower bound; 0 if not known.

    The kernel reports whole ticks: the difference of two readings may be one too large.
    """
    machine = run.machine
    found = [machine.per_processor[n].steal for n in processors if n < len(machine.per_processor)]
    if not found or machine.seconds <= 0:
        return 0.0
    return sum(max(0.0, share - _TICK_S / machine.seconds) for share in found) / len(found)


def foreign_share(run: TrialRun, processors: Processors) -> float:
    """The share of the server's processors that neither server nor generator used; 0 if unknown."""
    if run.server is None or run.server.seconds <= 0:
        return 0.0
    machine = run.machine.per_processor
    busy = [machine[number].busy for number in processors.server if number < len(machine)]
    if not busy:
        return 0.0
    own = (run.server.user_us + run.server.system_us) / (run.server.seconds * 1e6)
    if set(processors.server) & set(processors.generator) and run.record.seconds > 0:
        own += total_us(run.record.cpu) / (run.record.seconds * 1e6)
    return max(0.0, sum(busy) - own) / len(busy)


def server_lost(run: TrialRun, processors: Processors) -> float:
    """The share of its processors' time in which the server was ready and did not run.

    Its threads wait for each other, too, which is no loss while one of them runs. The rest of their
    waits is at most what other programs had of these processors, without interrupts, and what the
    control group's quota withheld. 0 where it is not known.
    """
    server = run.server
    if server is None or server.seconds <= 0 or server.queued_us is None:
        return 0.0
    whole_us = server.seconds * 1e6 * processors.server_count
    machine = run.machine.per_processor
    found = [machine[number] for number in processors.server if number < len(machine)]
    interrupts = sum(each.irq + each.softirq for each in found) / processors.server_count
    others = max(0.0, foreign_share(run, processors) - interrupts)
    withheld = (server.throttled_us or 0) / whole_us
    return min(server.queued_us / whole_us, others + withheld, 1.0)


def server_cost_us(run: TrialRun) -> float | None:
    """The server's processor time per connection in microseconds; None if unaccounted."""
    cost = _server_cost(run, run.record.outcomes.completed)
    return None if cost is None else cost.us


def steal_share(run: TrialRun) -> float:
    """The share of the machine's processor time that the hypervisor took (steal)."""
    machine = run.machine
    whole = machine.user_us + machine.system_us + machine.idle_us + machine.steal_us
    return machine.steal_us / whole if whole else 0.0


@dataclass(frozen=True)
class _Cost:
    """A cost in microseconds; its parts are in the ratio of the times `user_us`, `system_us`."""

    us: float
    user_us: int
    system_us: int

    @property
    def shares(self) -> tuple[float, float]:
        """The shares of the time in the program and in the kernel."""
        whole = self.user_us + self.system_us
        user = self.user_us / whole if whole else 0.0
        return user, 1 - user


_Read = Callable[[TrialRun, Processors], float | _Cost | None]


def _client_cost(run: TrialRun, count: int) -> _Cost | None:
    """The generator's processor time for one of `count` connections or requests."""
    cpu = run.record.cpu
    return _Cost(total_us(cpu) / count, cpu.user_us, cpu.system_us) if count else None


def _server_cost(run: TrialRun, count: int) -> _Cost | None:
    """The server's processor time for one of `count` connections or requests."""
    server = run.server
    if server is None or server.seconds <= 0 or count == 0:
        return None
    # The server is metered a little longer or shorter than the engine measures: rates, not totals.
    per_second = (server.user_us + server.system_us) / server.seconds
    return _Cost(per_second * run.record.seconds / count, server.user_us, server.system_us)


def _memory(run: TrialRun, _: Processors) -> float | None:
    return None if run.server is None or run.server.seconds <= 0 else run.server.memory_bytes


def _wire_bytes(run: TrialRun, _: Processors) -> float:
    sides = run.record.bytes.handshake_sent + run.record.bytes.handshake_received
    return sides / run.record.outcomes.completed


def _stapled(run: TrialRun, _: Processors) -> float | None:
    """The mean length of the OCSP responses of full handshakes; None without stapling."""
    full = [facts for facts in run.record.facts if facts.kind == "full"]
    stapled = sum(facts.ocsp_response_bytes * facts.count for facts in full)
    return stapled / sum(facts.count for facts in full) if stapled else None


# New connections: the run with the lean client, which loads the server.
_LOADING: Mapping[str, _Read] = {
    CONNECTIONS: lambda run, _: run.record.outcomes.completed / run.record.seconds,
    "handshakes_per_s": lambda run, _: (
        sum(facts.count for facts in run.record.facts) / run.record.seconds
    ),
    REQUESTS: lambda run, _: run.record.requests / run.record.seconds,
    "bytes_per_s": lambda run, _: run.record.bytes.received / run.record.seconds,
    WIRE_BYTES: _wire_bytes,
    CLIENT_BUSY: lambda run, _: client_busy(run),
    OCSP_BYTES: _stapled,
    ROUND_TRIPS: lambda run, _: mean_round_trips(run.record, "full"),
    ROUND_TRIPS_RESUMED: lambda run, _: mean_round_trips(run.record, "resumed"),
    SERVER_COST: lambda run, _: _server_cost(run, run.record.outcomes.completed),
    SERVER_MEMORY: _memory,
    SERVER_BUSY: server_busy,
}

# New connections: the run with the client that verifies everything.
_CLIENT: Mapping[str, _Read] = {
    CLIENT_COST: lambda run, _: _client_cost(run, run.record.outcomes.completed),
}

# Connections that are kept open. Bytes are those of HTTP, heads and bodies: the overhead of TLS is
# counted only when a connection ends.
_KEPT_OPEN: Mapping[str, _Read] = {
    OPEN_REQUESTS: lambda run, _: run.record.requests / run.record.seconds,
    OPEN_BYTES: lambda run, _: (run.record.bytes.head + run.record.bytes.body) / run.record.seconds,
    OPEN_CLIENT_BUSY: lambda run, _: client_busy(run),
    OPEN_CLIENT_COST: lambda run, _: _client_cost(run, run.record.requests),
    OPEN_SERVER_COST: lambda run, _: _server_cost(run, run.record.requests),
    OPEN_MEMORY: _memory,
    OPEN_SERVER_BUSY: server_busy,
}

# A side's cost over its limit: the run with the cost, the cost, the limit.
_LIMITS: Mapping[str, tuple[RunKind, str, Callable[[RunRecord, Primitives], float | None]]] = {
    CLIENT_LIMIT: ("client_cost", CLIENT_COST, client_limit_us),
    SERVER_LIMIT: ("capacity", SERVER_COST, server_limit_us),
}

_BY_RUN: Mapping[RunKind, Mapping[str, _Read]] = {
    "capacity": _LOADING,
    "client_cost": _CLIENT,
    "keep_alive": _KEPT_OPEN,
}


def _values(table: Mapping[str, _Read], run: TrialRun, processors: Processors) -> dict[str, float]:
    """What a run gives; nothing if nothing completed.

    Nothing either if connections were not waited for: the measurement may contain handshakes.
    """
    record = run.record
    done = record.requests if table is _KEPT_OPEN else record.outcomes.completed
    if done == 0 or record.seconds <= 0 or (table is _KEPT_OPEN and not _waited(run)):
        return {}
    values: dict[str, float] = {}
    for name, read in table.items():
        value = read(run, processors)
        if isinstance(value, _Cost):
            values[name] = value.us
            values |= {
                part: value.us * share
                for part, share in zip(parts_of(name), value.shares, strict=True)
            }
        elif value is not None:
            values[name] = float(value)
    return values


def _waited(run: TrialRun) -> bool:
    """Whether the measurement started when all connections were open."""
    return bool(run.record.spec.get("load", {}).get("open_within_ms"))
