"""The source of load: a pool of load generators, behind one protocol.

`lab.engine` is the pool of one generator on this machine, `several` the pool of several hosts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tlslab.contract.hold import HoldRecord
from tlslab.contract.primitives import Primitives
from tlslab.contract.probe import ProbeRecord
from tlslab.contract.record import Preflight, RunRecord
from tlslab.domain.errors import EngineError, NoGeneratorError
from tlslab.lab.engine_output import Listener


class LostInRunError(EngineError):
    """A generator was lost, and the run was given up.

    `record`: the measurement of all generators until the loss, which is not valid; None if unknown.
    """

    def __init__(self, error: EngineError, record: RunRecord | None) -> None:
        super().__init__(error.class_, error.message, error.remedy, error.status)
        self.record = record


class GeneratorPool(Protocol):
    """Load generators that make one run at a time.

    All methods raise EngineError, and NoGeneratorError once all generators are lost. `run` raises
    LostInRunError for a generator that was lost in the run.
    """

    @property
    def size(self) -> int:
        """The number of generators."""

    @property
    def first(self) -> int:
        """The number with which the search for a maximum starts.

        The search adds others if it needs them.
        """

    def run(
        self,
        spec: Mapping[str, Any],
        listener: Listener,
        trace: Path | None = None,
        most: int | None = None,
    ) -> RunRecord:
        """Makes one run; each event goes to the listener as soon as it arrives.

        The instants of each connection go to the file `trace`, if given. `most`: the number of
        generators that make load; None for all.
        """

    def preflight(self, spec: Mapping[str, Any]) -> tuple[Preflight, str]:
        """Makes one verified connection; returns its findings and the back end that made it."""

    def hold(
        self, spec: Mapping[str, Any], levels: Sequence[int], dwell_s: float, listener: Listener
    ) -> HoldRecord:
        """Holds idle connections at each level; an event reports each level."""

    def primitives(self, flags: Sequence[str]) -> Primitives:
        """The costs of the named primitives on the generators' machine."""

    def in_memory(
        self,
        flags: Sequence[str],
        seconds: float = 0.0,
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Handshakes without sockets for `seconds`; returns the engine's record.

        `environment`: variables for a module that holds the key.
        """

    def probe(self, spec: Mapping[str, Any]) -> ProbeRecord:
        """Everything that a server accepts, and whether it takes the offers, without load."""


def require_generator(pool: GeneratorPool) -> None:
    """Raises NoGeneratorError if all generators of a pool were lost."""
    if pool.size == 0:
        raise NoGeneratorError("all load generators were lost")
