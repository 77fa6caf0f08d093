"""A node_exporter beside a server: the machine's processor time, less that of the idle machine.

The exporter is queried before, and at both ends of, each measurement.

The interval. Each counter is truncated to 10 ms at both ends. The error of a difference is
triangular with the standard deviation 10 ms / sqrt(6); for k counters that moved it is
10 ms sqrt(k / 6), of which 1.96 are taken, with those of the idle machine scaled to the window and
added in quadrature. An answer's counters belong to some instant between request and answer. At the
start, half of that time at the window's rate may be missing or too much; at the end, where the load
is over when the request is sent, all of it. These two are bounds and are added; they may be equal
in all runs (`bias_us`), while the truncation differs from run to run. The error of a kernel that
accounts by whole ticks (no CONFIG_VIRT_CPU_ACCOUNTING_GEN) is not included: it varies from run to
run, so that the interval over trials contains it.
"""

import math
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from tlslab.domain.errors import CannotRunError
from tlslab.domain.trial import GroupTime, ProcessorTimes, SourceTime
from tlslab.domain.wording import percent
from tlslab.lab.metering.scrape import (
    IDLE_MODES,
    REMEDY,
    SYSTEM_MODES,
    USER_MODES,
    Address,
    Counters,
    ScrapeError,
    fetch,
    is_this_machine,
    parse,
    parse_address,
)

TICK_S = 0.01

# A machine with a larger share of busy processors before the load is not idle.
IDLE_LIMIT = 0.2

# Two-sided 95 % of a normal distribution.
Z = 1.96

# The excess of reported time over elapsed time that is tolerated: counters are read one by one.
SLACK_S = 0.1
SLACK_SHARE = 0.1


@dataclass(frozen=True)
class Window:
    """Two scrapes of one exporter."""

    start: Counters
    end: Counters

    def __post_init__(self) -> None:
        if self.start.machine.keys() != self.end.machine.keys():
            raise ScrapeError("its processors are others than before")
        back = [
            key
            for key, value in self.end.machine.items()
            # The kernel occasionally corrects these two downwards (proc_stat(5)).
            if value < self.start.machine[key] and key[1] not in IDLE_MODES
        ]
        if back:
            raise ScrapeError(
                f"a counter went back ({back[0][1]}): has the machine been restarted?"
            )
        processors = self.processor_count
        span = self.end.received - self.start.sent
        busy = self.spent((*USER_MODES, *SYSTEM_MODES))
        if busy > processors * (span * (1 + SLACK_SHARE) + SLACK_S):
            raise ScrapeError(
                f"{processors} processors cannot compute {busy:.3g} s in {span:.3g} s"
            )

    @property
    def processor_count(self) -> int:
        """The number of the machine's processors."""
        return len({name for name, _ in self.start.machine})

    @property
    def start_instant(self) -> float:
        """The middle between the first request and its answer."""
        return (self.start.sent + self.start.received) / 2

    @property
    def seconds(self) -> float:
        """From the first answer to the last request, when the load is over."""
        return max(self.end.sent - self.start_instant, 1e-9)

    def spent(self, modes: Iterable[str]) -> float:
        """Seconds over all processors in these modes."""
        wanted = set(modes)
        return sum(
            value - self.start.machine[key]
            for key, value in self.end.machine.items()
            if key[1] in wanted
        )

    @property
    def moved(self) -> int:
        """The number of counters of busy processors that moved."""
        return sum(
            value != self.start.machine[key]
            for key, value in self.end.machine.items()
            if key[1] in (*USER_MODES, *SYSTEM_MODES)
        )

    @property
    def processors(self) -> tuple[ProcessorTimes, ...]:
        """The use of each processor."""
        names = sorted({name for name, _ in self.start.machine}, key=lambda n: (len(n), n))

        def us(name: str, *modes: str) -> int:
            keys = [(name, mode) for mode in modes if (name, mode) in self.start.machine]
            return round(1e6 * sum(self.end.machine[k] - self.start.machine[k] for k in keys))

        return tuple(
            ProcessorTimes(
                processor=name,
                user_us=us(name, *USER_MODES),
                system_us=us(name, "system"),
                irq_us=us(name, "irq"),
                softirq_us=us(name, "softirq"),
                steal_us=us(name, "steal"),
                idle_us=us(name, *IDLE_MODES),
            )
            for name in names
        )

    @property
    def groups(self) -> tuple[GroupTime, ...]:
        """The processor time of each group of processes; groups that restarted are left out."""
        found: dict[str, dict[str, float]] = {}
        for (name, mode), value in self.end.groups.items():
            if (name, mode) in self.start.groups:
                found.setdefault(name, {})[mode] = value - self.start.groups[name, mode]
        return tuple(
            GroupTime(name, round(1e6 * modes["user"]), round(1e6 * modes["system"]))
            for name, modes in sorted(found.items())
            if set(modes) == {"user", "system"} and min(modes.values()) >= 0
        )


def busy_share(idle: Window) -> float:
    """The number of busy processors in a window (0.03: 3 % of one)."""
    span = (idle.end.sent + idle.end.received) / 2 - idle.start_instant
    return idle.spent((*USER_MODES, *SYSTEM_MODES)) / max(span, 1e-9)


def above_idle(loaded: Window, idle: Window) -> SourceTime:
    """The processor time of a window above that of the idle machine, with its error.

    Raises ScrapeError if the machine was not idle before the load: the load may have displaced the
    other work, so that it cannot be subtracted. Raises it also if the machine was not busier than
    before, as far as the error allows a statement.
    """
    if busy_share(idle) > IDLE_LIMIT * idle.processor_count:
        raise ScrapeError(
            f"its machine was more than {percent(IDLE_LIMIT)} busy before the load: end other work "
            "there"
        )
    span = (idle.end.sent + idle.end.received) / 2 - idle.start_instant
    scale = loaded.seconds / max(span, 1e-9)
    user = loaded.spent(USER_MODES) - scale * idle.spent(USER_MODES)
    system = loaded.spent(SYSTEM_MODES) - scale * idle.spent(SYSTEM_MODES)
    total = user + system
    ticks = Z * TICK_S * math.sqrt((loaded.moved + idle.moved * scale**2) / 6)
    reading = (loaded.start.received - loaded.start.sent) / 2
    late = loaded.end.received - loaded.end.sent
    bias = max(total, 0.0) / loaded.seconds * (reading + late)
    error = ticks + bias
    if total <= error:
        raise ScrapeError("its machine was no busier under load than before")
    user, system = (user, system) if min(user, system) >= 0 else (max(user, 0), max(system, 0))
    rest = total / (user + system)
    return SourceTime(
        source="node_exporter",
        user_us=round(1e6 * user * rest),
        system_us=round(1e6 * system * rest),
        seconds=loaded.seconds,
        error_us=math.ceil(1e6 * error),
        bias_us=math.ceil(1e6 * bias),
    )


# The time for which the idle machine is observed before each run: its counters tick by 10 ms.
IDLE_S = 1.0


@dataclass(frozen=True)
class Exporter:
    """A node_exporter that has answered; `own`: it is this machine's."""

    address: Address
    own: bool

    @classmethod
    def find(cls, text: str) -> "Exporter":
        """The exporter of a URL, queried once. Raises UsageError, CannotRunError."""
        address = parse_address(text)
        try:
            counters = parse(fetch(address))
        except ScrapeError as error:
            message = f"--server-metrics {address.shown}: {error}"
            raise CannotRunError(message, REMEDY) from None
        return cls(address, is_this_machine(counters))

    def read(self) -> Counters:
        """The counters now. Raises ScrapeError."""
        return parse(fetch(self.address))


class Scrapes:
    """The scrapes of one run: made in threads during the run, awaited when it is over."""

    def __init__(self, exporter: Exporter) -> None:
        self._exporter = exporter
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="scrape")
        self._idle: Window | ScrapeError | None = None
        self._start: Future[Counters] | None = None
        self._end: Future[Counters] | None = None

    def watch_idle(self, seconds: float = IDLE_S) -> None:
        """Makes two scrapes of the machine without load, some time apart."""
        try:
            first = self._exporter.read()
            time.sleep(seconds)
            self._idle = Window(first, self._exporter.read())
        except ScrapeError as error:
            self._idle = error

    def start(self) -> None:
        """The measurement starts."""
        self._start = self._pool.submit(self._exporter.read)

    def end(self) -> None:
        """The measurement is over."""
        if self._end is None and self._start is not None:
            self._end = self._pool.submit(self._exporter.read)

    def close(self) -> None:
        """Waits for pending scrapes; each has its own deadline."""
        self._pool.shutdown(cancel_futures=True)

    def windows(self) -> tuple[Window, Window]:
        """The measurement, and the idle machine before it. Raises ScrapeError."""
        if self._start is None or self._end is None or self._idle is None:
            raise ScrapeError("it was not asked at both ends of the measurement")
        if isinstance(self._idle, ScrapeError):
            raise self._idle
        return Window(self._start.result(), self._end.result()), self._idle
