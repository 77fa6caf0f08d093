"""The engine's program on the nodes: their own if it is the same, else a copy of this machine's."""

import hashlib
import platform
from pathlib import Path
from typing import Any

import ray

from tlslab.domain.errors import CannotRunError
from tlslab.lab.generators.cluster.calls import RayCalls

DELIVER_S = 60.0


class Shipment:
    """A program of this machine, which goes into the cluster's object store at most once."""

    def __init__(self, program: str) -> None:
        self._name = Path(program).name
        self._content = Path(program).read_bytes()
        self.sha256 = hashlib.sha256(self._content).hexdigest()
        self._stored: Any = None

    def deliver(self, calls: RayCalls, facts: dict[str, Any]) -> None:
        """Gives a node the program. Raises CannotRunError, HostLostError."""
        host = facts["hostname"]
        if facts["sha256"] == self.sha256:
            calls("use", facts["program"], seconds=DELIVER_S)
            return
        if facts["architecture"] != platform.machine():
            raise CannotRunError(
                f"{host} is {facts['architecture']}, this machine {platform.machine()}: its "
                f"{self._name} does not run there",
                "use generators of this machine's architecture",
            )
        if self._stored is None:
            self._stored = ray.put(self._content)
        refusal = calls("install", self._name, self._stored, self.sha256, seconds=DELIVER_S)
        if refusal:
            raise CannotRunError(f"{host}: {refusal}")
