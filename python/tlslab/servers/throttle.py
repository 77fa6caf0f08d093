"""Slows a process down: the process runs for a share of every period, and stops for the rest.

A CPU quota does the same to a server that has used it up (Linux's CFS bandwidth control has periods
of 100 ms, too), but needs control groups.
"""

import os
import signal
import threading

PERIOD_S = 0.1


class Throttle:
    """Stops and continues one process in turns, from a thread of its own."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, share: float) -> None:
        """Lets the process run for this share of each period, from 0 (frozen) to 1 (untouched)."""
        self.end()
        self._stop.clear()
        self._thread = threading.Thread(
            target=self._alternate, args=(min(max(share, 0.0), 1.0),), name="throttle", daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        """Lets the process run freely again; does nothing without a start."""
        if self._thread is None:
            return
        self._stop.set()
        self._thread.join()
        self._thread = None
        self._send(signal.SIGCONT)

    def _alternate(self, share: float) -> None:
        while not self._stop.is_set():
            if share < 1:
                self._send(signal.SIGSTOP)
            self._stop.wait(PERIOD_S * (1 - share))
            if share > 0:
                self._send(signal.SIGCONT)
            self._stop.wait(PERIOD_S * share)

    def _send(self, number: signal.Signals) -> None:
        try:
            os.kill(self._pid, number)
        except ProcessLookupError:
            self._stop.set()
