"""The cost of each TLS primitive on a machine, as measured by `tlslab-load primitives`."""

from collections.abc import Iterator
from dataclasses import dataclass

# The default size of a response of the engine's own listener, in bytes.
RESPONSE_BYTES = 2048


@dataclass(frozen=True)
class Primitive:
    """Processor time of one call in microseconds: median, least and greatest of the rounds.

    `algorithm`, `operation` and `bytes` are those of the engine's record (primitives/record.rs).
    """

    backend: str
    algorithm: str
    operation: str
    bytes: int | None
    median_us: float
    low_us: float
    high_us: float
    rounds: int
    calls: int


@dataclass(frozen=True)
class Primitives:
    """All measured primitives; one primitive may have been measured for several libraries."""

    primitives: tuple[Primitive, ...]

    def cost_us(self, algorithm: str, operation: str, size: int | None = None) -> float | None:
        """The cost with the fastest library on this machine; None if no library was measured.

        The cost for a size in bytes is interpolated linearly through the two measured sizes.
        """
        costs = [self._cost(backend, algorithm, operation, size) for backend in self._backends()]
        return min((cost for cost in costs if cost is not None), default=None)

    def _backends(self) -> Iterator[str]:
        return iter(dict.fromkeys(primitive.backend for primitive in self.primitives))

    def _cost(self, backend: str, algorithm: str, operation: str, size: int | None) -> float | None:
        wanted = (backend, algorithm, operation)
        found = [p for p in self.primitives if (p.backend, p.algorithm, p.operation) == wanted]
        if size is None or not all(p.bytes is not None for p in found):
            return found[0].median_us if found else None
        points = sorted((p.bytes or 0, p.median_us) for p in found)
        if len(points) < 2:
            return None
        (small, least), (large, most) = points[0], points[-1]
        per_byte = (most - least) / (large - small)
        return max(0.0, least + per_byte * (size - small))
