"""`tlslab` with generators of this machine; the clock of the last one jumps in each run.

`python -m live.jumping ARGUMENTS...` is otherwise `tlslab ARGUMENTS...`. CLOCK_MONOTONIC of a live
host cannot be set. The clock jumps like this on a host whose kernel stands still, such as a virtual
machine that is moved.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from unittest import mock

from tlslab import cli
from tlslab.lab.generators import choose
from tlslab.lab.generators.local import EngineConversation, LocalHost, local_hosts

JUMP_NS = 250_000_000


class JumpingHost(LocalHost):
    """A host whose clock jumps ahead once the start of a run is agreed."""

    _ahead_ns = 0

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC of this machine, and the jump."""
        return super().now_ns() + self._ahead_ns

    def open(self, spec: Mapping[str, Any], flags: Sequence[str]) -> EngineConversation:
        """Starts an engine. The clock is correct until the barrier opens."""
        self._ahead_ns = 0
        conversation = super().open(spec, flags)
        start = conversation.start

        def start_and_jump(at_ns: int, unix_s: float) -> None:
            start(at_ns, unix_s)
            self._ahead_ns = JUMP_NS

        conversation.start = start_and_jump  # type: ignore[method-assign]
        return conversation


def hosts(count: int, program: str) -> list[LocalHost]:
    """N hosts that are all this machine."""
    *steady, last = local_hosts(count, program)
    return [*steady, JumpingHost(last.facts.name, program)]


if __name__ == "__main__":
    with mock.patch.object(choose, "local_hosts", hosts):
        cli.main()
