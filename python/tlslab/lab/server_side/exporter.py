"""A node_exporter beside a server: queried before, and at both ends of, each measurement."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from tlslab.domain.errors import CannotRunError
from tlslab.lab.server_side.counters import Counters, is_this_machine, parse
from tlslab.lab.server_side.machine import Window
from tlslab.lab.server_side.scrape import REMEDY, Address, ScrapeError, fetch, parse_address

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
