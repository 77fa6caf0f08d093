"""Starts one managed server, and makes a few connections to it with the engine."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlslab.servers import Target
from tlslab.servers.base import Running
from tlslab.servers.programs import require_program

CONNECTIONS = 12


@dataclass(frozen=True)
class Served:
    """A running server, and the authorities to trust there."""

    target: Target
    running: Running
    ca: Path
    lacking: dict[tuple[str, str], str]

    def load(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Makes a few connections; returns the engine's exit code, and its record or its error."""
        command = [require_program("tlslab-load"), "--json", "-c", "4", "-n", str(CONNECTIONS)]
        command += ["--ca", str(self.ca), "--sni", "localhost", *arguments, self.running.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, json.loads(done.stdout)

    def facts(self, *arguments: str) -> dict[str, Any]:
        """The facts that all connections had in common; every connection must have completed."""
        _, record = self.load(*arguments)
        assert "outcomes" in record, record
        assert record["outcomes"]["completed"] == CONNECTIONS, record["outcomes"]
        assert record["outcomes"]["unexpected"] == {}
        assert len(record["facts"]) == 1
        assert record["preflight"]["status"] == 200
        return dict(record["facts"][0])


@contextmanager
def served(target: Target, folder: Path) -> Iterator[Served]:
    """The server, prepared and started, until the block ends."""
    lacking = target.prepare()
    ca = folder / "ca.pem"
    ca.write_text(target.trust_pem)
    running = target.start()
    try:
        yield Served(target, running, ca, lacking)
    finally:
        running.stop()
        assert not running.process.alive()
