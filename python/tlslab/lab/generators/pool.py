"""Where load comes from: a pool of load generators, behind one protocol.

`lab.engine` is the pool of one generator on this machine, `several` one of several hosts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tlslab.lab.engine_output import Listener
from tlslab.model.errors import EngineError, NoGeneratorError
from tlslab.model.handshake import Preflight
from tlslab.model.offered import Offered
from tlslab.model.primitives import Primitives
from tlslab.model.probe import AbilitiesFound, ProbeRecord
from tlslab.model.record import RunRecord
from tlslab.model.scale import HoldRecord


class LostInRunError(EngineError):
    """A generator was lost, and the run was given up.

    `record` is what all had measured until then, which is not valid; None where that is not known.
    """

    def __init__(self, error: EngineError, record: RunRecord | None) -> None:
        super().__init__(error.class_, error.message, error.remedy)
        self.record = record


class GeneratorPool(Protocol):
    """Load generators that make one run at a time.

    All methods raise EngineError, `run` a LostInRunError for a generator that was lost in it; and
    NoGeneratorError once all are lost.
    """

    @property
    def size(self) -> int:
        """How many generators there are."""

    @property
    def first(self) -> int:
        """How many of them a search of a maximum begins with; it adds others as it needs them."""

    def run(
        self,
        spec: Mapping[str, Any],
        listener: Listener,
        trace: Path | None = None,
        most: int | None = None,
    ) -> RunRecord:
        """One run; each event goes to the listener as soon as it arrives.

        The instants of each connection go to the file `trace`, if there is one. `most`: this many
        of the generators make load, where it is not all.
        """

    def preflight(self, spec: Mapping[str, Any]) -> tuple[Preflight, str]:
        """One verified connection: what it found, and the back end that made it."""

    def hold(
        self, spec: Mapping[str, Any], levels: Sequence[int], dwell_s: float, listener: Listener
    ) -> HoldRecord:
        """Holds connections idle at each level; an event reports each."""

    def primitives(self, flags: Sequence[str]) -> Primitives:
        """What the primitives that the flags name cost on the generators' machine."""

    def in_memory(
        self,
        flags: Sequence[str],
        seconds: float = 0.0,
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Handshakes without sockets, for so long: the engine's record."""

    def probe(self, spec: Mapping[str, Any]) -> ProbeRecord:
        """What a server accepts of some offers, without load."""

    def abilities(self, spec: Mapping[str, Any]) -> AbilitiesFound:
        """All that a server accepts, without load."""

    def offered(self, spec: Mapping[str, Any]) -> Offered:
        """All that a server offers, as grading needs it, without load."""


def require_generator(pool: GeneratorPool) -> None:
    """Raises NoGeneratorError where all generators of a pool were lost."""
    if pool.size == 0:
        raise NoGeneratorError("all load generators were lost")
