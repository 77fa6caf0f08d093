"""What one run does beside TLS: load, document, windows of time."""

from dataclasses import dataclass

RESUMPTIONS = ("none", "id", "ticket", "psk", "psk-only")


@dataclass(frozen=True)
class Window:
    """Warm-up and measurement of one engine run, in milliseconds."""

    warmup_ms: int
    measure_ms: int

    @property
    def seconds(self) -> float:
        """Warm-up and measurement together, in seconds."""
        return (self.warmup_ms + self.measure_ms) / 1000


@dataclass(frozen=True)
class Workload:
    """A closed loop over new connections.

    Each trial has two runs: `capacity` with the lean client, which loads the server as far as it
    goes and tells rates, latencies and the server's cost; `client_cost` with the full client, which
    tells what the handshake costs a real client. `http` is the version, `streams` the requests
    under way at once on a connection, more than one with HTTP/2 only. `resume` is how connections
    resume an earlier session, `resume_ratio` the share of them that do.
    """

    document_bytes: int
    connections: int
    requests_per_connection: int
    capacity: Window
    client_cost: Window
    http: str = "1.1"
    streams: int = 1
    resume: str = "none"
    resume_ratio: float = 1.0

    @property
    def trial_seconds(self) -> float:
        """The length of one trial without the time to start and stop programs, in seconds."""
        return self.capacity.seconds + self.client_cost.seconds
