"""The costs of the primitives. Made from schema/primitives.json by `make schema`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Primitive:
    """The cost of one primitive: processor time per call, in microseconds."""

    backend: str  # The library, or `kernel`.
    algorithm: str
    operation: str  # The operation.
    median_us: float  # The median of the rounds.
    low_us: float  # The fastest round.
    high_us: float  # The slowest round.
    rounds: int  # Number of rounds.
    calls: int  # Number of calls in all rounds.
    bytes: int | None = None  # The length of the input in bytes, if the cost depends on it.


@dataclass(frozen=True)
class Primitives:
    """The costs of the primitives."""

    primitives: tuple[Primitive, ...]  # The primitives.
