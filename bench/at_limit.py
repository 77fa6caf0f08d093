"""Closed loops that keep the server busy all the time.

A busy server never sleeps, and hardly ever wakes its client. The cost of a connection then has the
least noise on both sides, and does not depend on which side sleeps when (ADR 0041).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench.child import run
from bench.server import GROUP, SUITE, Server
from bench.settings import SECONDS
from tlslab.domain.errors import CannotRunError
from tlslab.lab.programs import require_program

CONNECTIONS = 50

# The minimum busy share of the server's processor with every arm.
SATURATED = 0.97


@dataclass
class AtLimit:
    """One server, loaded by several arms; the busy share of its processor in each run (0 to 1)."""

    server: Server
    busy: dict[str, list[float]] = field(default_factory=dict)

    def load(self, arm: str, options: Sequence[str]) -> dict[str, Any]:
        """The record of one run of `tlslab-load` with these options.

        Raises CannotRunError if nothing was completed.
        """
        command = [require_program("tlslab-load"), "--json", "-c", str(CONNECTIONS)]
        command += ["-d", f"{SECONDS:g}s", "--tls", "1.3", "--group", GROUP, "--suite", SUITE]
        command += [*options, "--ca", str(self.server.ca_file), self.server.url]
        done = run(command, SECONDS, self.server.worker)
        self.busy.setdefault(arm, []).append(done.busy.server_processor)
        record: dict[str, Any] = json.loads(done.output.splitlines()[-1])
        if record["outcomes"]["completed"] == 0:
            raise CannotRunError(f"{arm}: nothing was completed")
        return record

    def require_saturated(self) -> None:
        """Raises CannotRunError if an arm did not keep the server busy."""
        for arm, shares in self.busy.items():
            if median(shares) < SATURATED:
                raise CannotRunError(
                    f"{arm} kept the server's processor {median(shares):.0%} busy, not "
                    f"{SATURATED:.0%}: the arms would not be compared at the same load",
                    "use an idle machine",
                )
