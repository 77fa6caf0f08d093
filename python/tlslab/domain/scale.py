"""The result of `tlslab scale`: the memory of an idle connection, on both sides."""

from collections.abc import Mapping
from dataclasses import dataclass

SCHEMA = "tlslab.scale/1"


@dataclass(frozen=True)
class ScalePoint:
    """The memory of both sides at one number of connections, in bytes.

    `server` is None for a server that the lab did not start. `kernel`: the kernel's memory, for
    both ends together and for everything else on this machine.
    """

    connections: int
    client: int
    server: int | None
    kernel: int


@dataclass(frozen=True)
class Slope:
    """Bytes per connection by least squares over the levels, with a 95 % interval.

    The interval is Student's: the widest over a range of correlations between neighbouring
    residuals (analysis.stats.slope). It is None with fewer than three levels.
    """

    what: str
    value: float
    low: float | None
    high: float | None
    n: int
    method: str = "least squares; Student's t, widest over AR(1) residuals up to 0.8"


@dataclass(frozen=True)
class BackendScale:
    """One back end of the client at all levels."""

    backend: str
    attempts: int
    alive: int
    lost: int
    failed: Mapping[str, int]
    readings: tuple[ScalePoint, ...]
    slopes: tuple[Slope, ...]

    @property
    def valid(self) -> bool:
        """Whether every opened connection stayed open and answered again."""
        return self.attempts > 0 and self.alive == self.attempts


@dataclass(frozen=True)
class Scale:
    """A whole measurement; `software` is the server's."""

    schema: str
    target: str
    software: str
    backends: tuple[BackendScale, ...]

    @property
    def valid(self) -> bool:
        """Whether the connections of every back end were all held."""
        return all(backend.valid for backend in self.backends)
