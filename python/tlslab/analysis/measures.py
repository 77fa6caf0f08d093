"""One value of each estimate from each trial, and the units."""

from collections.abc import Sequence
from dataclasses import dataclass

from tlslab.domain.deployment import Deployment
from tlslab.domain.generator import generator_busy
from tlslab.domain.record import RunRecord
from tlslab.domain.run import Environment
from tlslab.domain.trial import Trial, TrialRun

RATE = "1/s"
MICROSECONDS = "us"
BYTES = "B"
BYTE_RATE = "B/s"
SHARE = "share"
RATIO = "ratio"

# The resolution of the kernel's processor times (USER_HZ; proc_stat(5)).
_TICK_S = 0.01

UNITS: dict[str, str] = {
    "connections_per_s": RATE,
    "handshakes_per_s": RATE,
    "requests_per_s": RATE,
    "bytes_per_s": BYTE_RATE,
    "wire_bytes_per_handshake": BYTES,
    "ocsp_response_bytes": BYTES,
    "client_cpu_us_per_connection": MICROSECONDS,
    "client_cpu_us_per_connection_user": MICROSECONDS,
    "client_cpu_us_per_connection_system": MICROSECONDS,
    "server_cpu_us_per_connection": MICROSECONDS,
    "server_cpu_us_per_connection_user": MICROSECONDS,
    "server_cpu_us_per_connection_system": MICROSECONDS,
    "connections_per_cpu_s": RATE,
    "server_memory_bytes": BYTES,
    "server_busy": SHARE,
    "client_busy": SHARE,
    "limit_ratio": RATIO,
    "server_limit_ratio": RATIO,
}


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


def trial_values(trial: Trial, processors: Processors) -> dict[str, float]:
    """The values of a finished trial, by estimate name.

    Rates, bytes, memory and the server's cost come from the run with the lean client, which loads
    the server; the client's cost comes from the run with the full client. Values that the trial
    does not have are absent (a server that the lab does not account for, a run in which nothing
    completed).
    """
    values: dict[str, float] = {}
    if (run := trial.runs.get("capacity")) is not None:
        values |= loading_values(run, processors)
    if (run := trial.runs.get("client_cost")) is not None:
        values |= _client(run)
    parts = [values.get(f"{side}_cpu_us_per_connection") for side in ("client", "server")]
    if parts[0] is not None and parts[1] is not None and not _elsewhere(trial):
        # The rate of a host that does the work of both sides, as published studies have it.
        values["connections_per_cpu_s"] = 1e6 / (parts[0] + parts[1])
    return values


def _elsewhere(trial: Trial) -> bool:
    """Whether the server ran on another machine, whose processors may be faster or slower."""
    return any(run.server and run.server.source == "node_exporter" for run in trial.runs.values())


def loading_values(run: TrialRun, processors: Processors) -> dict[str, float]:
    """The values of one run of the lean client: rates, bytes, memory, the server's cost."""
    return _capacity(run) | _server(run, processors)


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
        own += run.record.cpu.total_us / (run.record.seconds * 1e6)
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
    if run.server is None or run.server.seconds <= 0 or run.record.outcomes.completed == 0:
        return None
    # The server is metered a little longer or shorter than the engine measures: rates, not totals.
    per_second = (run.server.user_us + run.server.system_us) / run.server.seconds
    return per_second * run.record.seconds / run.record.outcomes.completed


def steal_share(run: TrialRun) -> float:
    """The share of the machine's processor time that the hypervisor took (steal)."""
    machine = run.machine
    whole = machine.user_us + machine.system_us + machine.idle_us + machine.steal_us
    return machine.steal_us / whole if whole else 0.0


def _capacity(run: TrialRun) -> dict[str, float]:
    record = run.record
    completed = record.outcomes.completed
    if completed == 0 or record.seconds <= 0:
        return {}
    wire = record.bytes.handshake_sent + record.bytes.handshake_received
    return {
        "connections_per_s": completed / record.seconds,
        "handshakes_per_s": sum(facts.count for facts in record.facts) / record.seconds,
        "requests_per_s": record.requests / record.seconds,
        "bytes_per_s": record.bytes.received / record.seconds,
        "wire_bytes_per_handshake": wire / completed,
        "client_busy": client_busy(run),
        **_stapled(record),
    }


def _stapled(record: RunRecord) -> dict[str, float]:
    """The mean length of the OCSP responses of full handshakes; empty without stapling."""
    full = [facts for facts in record.facts if facts.kind == "full"]
    stapled = sum(facts.ocsp_response_bytes * facts.count for facts in full)
    return {"ocsp_response_bytes": stapled / sum(f.count for f in full)} if stapled else {}


def _server(run: TrialRun, processors: Processors) -> dict[str, float]:
    cost, server = server_cost_us(run), run.server
    if cost is None or server is None:
        return {}
    costs = split("server_cpu_us_per_connection", cost, server.user_us, server.system_us)
    return costs | held(run, processors)


def held(run: TrialRun, processors: Processors) -> dict[str, float]:
    """The server's memory and the use of its processors, as far as they are known."""
    found = {
        "server_memory_bytes": None if run.server is None else run.server.memory_bytes,
        "server_busy": server_busy(run, processors),
    }
    return {name: float(value) for name, value in found.items() if value is not None}


def _client(run: TrialRun) -> dict[str, float]:
    completed, cpu = run.record.outcomes.completed, run.record.cpu
    if completed == 0:
        return {}
    cost = cpu.total_us / completed
    return split("client_cpu_us_per_connection", cost, cpu.user_us, cpu.system_us)


def split(name: str, cost: float, user_us: int, system_us: int) -> dict[str, float]:
    """A cost, and its parts in user space and in the kernel."""
    user = user_us / (user_us + system_us) if user_us + system_us else 0.0
    return {name: cost, f"{name}_user": cost * user, f"{name}_system": cost * (1 - user)}
